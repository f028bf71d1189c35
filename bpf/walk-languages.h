/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-languages.h - reads the functions of a thread in the language of its interpreter. */

#pragma once

#include "walk-python.h"
#include "walk-ruby.h"
#include "walk-tasks.h"

/* Reads the chain of the thread and emits it. Returns the LuCounter of the outcome. */
HOST_SUBPROGRAM int64_t
tell_chain (host_context ctx, walk_ref ref)
{
  int64_t failure = LU_COUNTER_BPF_CHAINS_NO_THREAD;

  switch (chain_begin (ref))
    {
    case LU_INTERP_PYTHON:
      failure = python_read_chain (ctx, ref);
      if (failure < 0)
        python_read_waiters (ctx, ref);
      break;
    case LU_INTERP_RUBY:
      failure = ruby_read_chain (ctx, ref);
      break;
    }
  return failure >= 0 ? failure : emit_chain (ctx, ref);
}
