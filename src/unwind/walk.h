/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk.h - one walk under way, as the parts of the walker share it.
 *
 * walker.c begins and ends it, walk-plain.c makes the steps of plain rules and follows the thread's
 * last stack, walk-frame.c makes all other steps and knows how walks end. */

#pragma once

#include "unwind/guess.h"
#include "unwind/memo.h"
#include "unwind/rule-cache.h"
#include "unwind/space-cache.h"

typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  LuSpaceView *view;
  LuRuleCache *rules;
  LuMemo *memo;
  LuGuessPlaces *set_up;
  LuGuessFacts *facts;
  LuStack *stack;
  struct lu_copy copy;
  struct lu_regs regs;    /* of the frame that comes next; it is not in the stack yet */
  LuMemoFrame *frame;     /* in the memo, of the same frame; NULL if it is no caller */
  LuCodeReader *reader;   /* NULL: files must not be touched */
  gint32 pid;             /* for the reader */
  guint32 top;            /* words on top of the stack that are no return address of the leaf's */
  guint64 failed_address; /* of the last read that failed */
  guint64 last_fp;        /* by which the last guess went */
  guint n_guess_rules;    /* that guesses have asked for */
  gboolean is_off_copy;   /* interrupted on a stack that we have no copy of */
  gboolean is_guessed;    /* the frame to come */
  gboolean has_guessed;   /* some frame */
  gboolean is_from_top;   /* the leaf's caller was on top of the stack, if the stack is complete */
  gboolean is_refuted;    /* it was from_top, and is not complete */
} LuWalk;

typedef enum
{
  LU_WALK_ON,   /* to the next frame */
  LU_WALK_DONE, /* the stack is finished */
  LU_WALK_LEFT, /* the worker must unwind the sample */
} LuWalkResult;

/* As far as plain steps go. ON: the frame that comes next is for lu_walk_frame(). */
LuWalkResult lu_walk_plain (LuWalk *self);
/* One frame, by whatever its place says. */
LuWalkResult lu_walk_frame (LuWalk *self);

/* The flags of the frame that comes next. */
static inline guint32
lu_walk_take_flags (LuWalk *self, gboolean is_caller)
{
  guint32 flags = is_caller ? LU_FRAME_RETURN_ADDRESS : 0;

  if (G_UNLIKELY (self->is_guessed))
    flags |= LU_FRAME_GUESSED;
  self->is_guessed = FALSE;
  return flags;
}
