/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* thread.h - one traced thread: its registers at the last stop and its shadow stack.
 *
 * The tracer uses it at every stop. Between two stops exactly one instruction runs, or the kernel
 * enters a signal handler. */

#pragma once

#include "compare.h"
#include "stacks.h"

#include <sys/user.h>

typedef struct
{
  pid_t tid;
  const Comparison *context;    /* borrowed: memory, code, tally */
  struct user_regs_struct regs; /* where it stopped */
  Instruction instruction;      /* the next one to run */
  Shadow shadow;                /* of its current stack */
  Stacks stacks;
  gboolean is_switching; /* to another stack, until the jump or return to the code there */
  int signal_number;     /* delivered before the next instruction; 0: none */
} Thread;

Thread *thread_new (pid_t tid, const Comparison *context);
void thread_free (Thread *self);
/* The callers so far are not known: at a start (is_whole: there were none) or at the start of a
 * window. */
void thread_restart (Thread *self, gboolean is_whole);
/* Whether the running frame is being left for a frame other than its caller, so that it has no
 * defined caller. */
gboolean thread_is_leaving (const Thread *self);
/* It has made a step, or is about to get a signal. */
void thread_stopped (Thread *self, int signal_number);
