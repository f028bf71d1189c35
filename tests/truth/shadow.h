/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* shadow.h - the truth: who called the code that runs, kept from the instructions themselves.
 *
 * One per thread. A call pushes, and nothing is popped before control is transferred with the stack
 * pointer above a return address: by a return, a tail jump out of longjmp, a landing pad. So a
 * function that has taken its return address off the stack for a while (vfork) is still in its
 * frame. No unwind information is consulted. */

#pragma once

#include <glib.h>

/* The registers that a caller will have when it runs again. */
typedef struct
{
  guint64 slot; /* where its pc lies on the stack; after a signal: where struct ucontext begins */
  guint64 pc, sp, fp, bx;
  gboolean is_interrupted; /* by a signal, rather than calling */
} Caller;

typedef struct
{
  GArray *callers;    /* of Caller, the outermost first */
  gboolean is_whole;  /* from the thread's first instruction on: below the callers is nothing */
  guint64 n_returns;  /* to where the call came from */
  guint64 n_diverted; /* from a call's slot to somewhere else */
} Shadow;

void shadow_init (Shadow *self, gboolean is_whole);
void shadow_clear (Shadow *self);

/* A call pushed `pc` at `slot`. */
void shadow_call (Shadow *self, guint64 slot, guint64 pc, guint64 fp, guint64 bx);
/* The kernel pushed a frame for a signal: the restorer's address at `slot`, directly above it
 * struct ucontext; the handler is called by the restorer, and that by the interrupted code. */
void shadow_signal (Shadow *self, guint64 slot, guint64 restorer, const Caller *interrupted);
/* A return executed with the stack pointer at `slot` has come to `pc`. */
void shadow_return (Shadow *self, guint64 slot, guint64 sp, guint64 pc);
/* Control went somewhere else with the stack pointer at `sp`. */
void shadow_jump (Shadow *self, guint64 sp);
/* rt_sigreturn. FALSE if no signal was known, or it did not lead back to (pc, sp). */
gboolean shadow_signal_return (Shadow *self, guint64 ucontext, guint64 pc, guint64 sp);

/* The caller of the frame `depth` frames up; NULL if it is not known. */
const Caller *shadow_caller (const Shadow *self, guint depth);
/* Whether the stack pointer is past the slot of the innermost frame, which has begun to leave its
 * frame for another than its caller. */
gboolean shadow_is_leaving (const Shadow *self, guint64 sp);
