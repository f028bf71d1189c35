/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* shadow.h - the truth: the callers of the running code, tracked by its instructions alone.
 *
 * There is one per thread. A call pushes, and nothing is popped until control is transferred with
 * the stack pointer above a return address: by a return, a tail jump out of longjmp, or a landing
 * pad. A function that has removed its return address from the stack for a while (vfork) is
 * therefore still in its frame. No unwind information is used. */

#pragma once

#include <glib.h>

/* The registers that a caller has when it continues. */
typedef struct
{
  guint64 slot; /* where its pc is on the stack; after a signal: where struct ucontext starts */
  guint64 pc, sp, fp, bx;
  gboolean is_interrupted; /* interrupted by a signal rather than calling */
} Caller;

typedef struct
{
  GArray *callers;   /* of Caller, the outermost first */
  gboolean is_whole; /* tracked from the thread's first instruction: nothing is below the callers */
  guint64 n_returns; /* to where the call came from */
  guint64 n_diverted; /* from a call's slot to somewhere else */
} Shadow;

void shadow_init (Shadow *self, gboolean is_whole);
void shadow_clear (Shadow *self);

/* A call pushed `pc` at `slot`. */
void shadow_call (Shadow *self, guint64 slot, guint64 pc, guint64 fp, guint64 bx);
/* The kernel pushed a frame for a signal: the restorer's address at `slot`, directly above it
 * struct ucontext. The restorer called the handler, and the interrupted code called the restorer.
 */
void shadow_signal (Shadow *self, guint64 slot, guint64 restorer, const Caller *interrupted);
/* A return executed with the stack pointer at `slot` has reached `pc`. */
void shadow_return (Shadow *self, guint64 slot, guint64 sp, guint64 pc);
/* Control went to another place with the stack pointer at `sp`. */
void shadow_jump (Shadow *self, guint64 sp);
/* To be called for rt_sigreturn. FALSE if no signal was known, or it did not lead back to (pc, sp).
 */
gboolean shadow_signal_return (Shadow *self, guint64 ucontext, guint64 pc, guint64 sp);

/* Returns the caller of the frame `depth` frames up; NULL if it is not known. */
const Caller *shadow_caller (const Shadow *self, guint depth);
/* Whether the stack pointer is beyond the slot of the innermost frame, which means that the frame
 * is being left for a frame other than its caller. */
gboolean shadow_is_leaving (const Shadow *self, guint64 sp);
