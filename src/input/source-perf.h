/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf.h - samples and side-band from our own perf events. */

#pragma once

#include "input/cpu-clocks.h"
#include "input/perf-event.h"
#include "input/source.h"

typedef struct
{
  GArray *tasks; /* array of pid_t: per-task events on these threads and their descendants; NULL:
                    CPU-wide */
  LuCpuClocksOptions clocks;
  gboolean enable_on_exec;  /* the only task is a child that is about to exec */
  guint frequency;          /* Hz */
  guint32 stack_size;       /* bytes, a multiple of 8, LU_STACK_SIZE_MIN..LU_STACK_SIZE_MAX */
  gboolean has_copies_only; /* no stack will be unwound in the kernel */
} LuPerfSourceOptions;

/* Opens and maps everything. Side-band arrives from now on, samples from start() on. */
LuSource *lu_source_perf_new (const LuPerfAbilities *abilities, const LuPerfSourceOptions *options,
                              GError **error);
