/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* merge.h - puts the functions that an interpreter ran into the native stack.
 *
 * From the leaf, each call of the interpreter's function takes functions from the chain up to and
 * including the one with LU_INTERP_ENTRY; these replace its frame. Everything else stays: C
 * functions that were called, and the rest of the interpreter.
 *
 * Functions of tasks that wait have no call of their own: they follow the call in which the task
 * that they wait for begins.
 *
 * The counts decide. In a whole stack each call must have its functions and each function its call,
 * with one exception: the innermost call may not run a function yet, or not any more. */

#pragma once

#include "lu/interp.h"
#include "lu/stack.h"

#include <glib.h>

/* The kinds of native frames. */
typedef enum
{
  LU_NATIVE_OTHER,
  LU_NATIVE_CALL,    /* runs functions: it is to be replaced */
  LU_NATIVE_BEGINS,  /* the same, at the leaf, and it may not have noted yet what it runs */
  LU_NATIVE_HANDLER, /* a part of the call that is the next frame */
} LuNativeKind;

typedef struct
{
  const LuFrame *frames; /* user frames, leaf first; borrowed */
  const guint8 *kinds;   /* LuNativeKind of each */
  guint n_frames;
  gboolean is_whole; /* the frames lead to the root */
  const struct lu_interp_frame *chain;
  const guint64 *addresses; /* of the functions of the chain (functions.h); 0: not to be shown */
  guint n_chain;
  /* Addresses of what waits for the function with LU_INTERP_TASK, and does not run: put behind the
   * call that runs that function. */
  const guint64 *waiters;
  guint n_waiters;
  guint32 language;       /* enum lu_interp_language */
  guint32 chain_flags;    /* enum lu_interp_chain_flags */
  gboolean begins_in_two; /* the call at the leaf may be between two steps of noting its function,
                             where the chain is not true */
  gboolean keeps_native;  /* leave the replaced frames beside the functions */
} LuMerge;

typedef enum
{
  LU_MERGED,       /* all functions are in the stack */
  LU_MERGED_PART,  /* the stack or the chain is cut; they agree as far as they go */
  LU_MERGE_DIFFER, /* stack and chain do not agree: frames are as they were, with one more,
                      LU_FUNCTION_UNMATCHED, where functions are missing */
} LuMergeResult;

/* Fills `merged`, which has room for lu_merge_room() frames, and sets *n_merged. Functions have the
 * flag LU_FRAME_FUNCTION. */
LuMergeResult lu_merge (const LuMerge *self, LuFrame *merged, guint *n_merged);

static inline guint
lu_merge_room (const LuMerge *self)
{
  return self->n_frames + self->n_chain + self->n_waiters + 1;
}
