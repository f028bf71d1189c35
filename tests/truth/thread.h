/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* thread.h - one traced thread: its registers at the last stop and its shadow stack.
 *
 * Used by the tracer, which tells it of every stop. From one stop to the next exactly one
 * instruction runs, or the kernel enters a signal handler. */

#pragma once

#include "compare.h"
#include "stacks.h"

#include <sys/user.h>

typedef struct
{
  pid_t tid;
  const Comparison *context;    /* borrowed: memory, code, tally */
  struct user_regs_struct regs; /* where it stands */
  Instruction instruction;      /* the one it stands at */
  Shadow shadow;                /* of the stack that it is on */
  Stacks stacks;
  gboolean is_switching; /* to another stack, until the jump or return to the code there */
  int signal_number;     /* that is delivered before the next instruction; 0: none */
} Thread;

Thread *thread_new (pid_t tid, const Comparison *context);
void thread_free (Thread *self);
/* What was before is not known: at a start (is_whole: there was nothing) or at a window's. */
void thread_restart (Thread *self, gboolean is_whole);
/* Whether the frame that runs is being left for another than its caller: it has no caller to speak
 * of. */
gboolean thread_is_leaving (const Thread *self);
/* It has made a step, or is about to get a signal. */
void thread_stopped (Thread *self, int signal_number);
