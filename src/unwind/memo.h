/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.h - the last stack of each thread, so that its next one is compared instead of walked.
 *
 * Used by the walker. Samples of a thread mostly differ near the leaf. A plain step (plain.h) is a
 * function of the space, of the registers that its rule names and of the words that it reads; so
 * where a walk comes to a frame that the last stack had, with the same of these registers, the
 * words alone decide whether the next frame is the same too, and they are known in advance: their
 * reads wait neither for each other nor for a rule. At the first word that differs the walk goes on
 * by itself. Nothing is ever taken over that was not compared, so no entry can be wrong, whoever it
 * is from.
 * Looking for a frame that both have costs more than some steps do. So a walk looks first where the
 * stacks before it began to be the same. Tried: looking at every step; a third slower.
 * No allocation after lu_memo_new(). Belongs to one thread. */

#pragma once

#include "lu/stack.h"
#include "unwind/plain.h"

#include <glib.h>

/* Frames that are kept of a stack, the outermost ones. */
#define LU_MEMO_FRAMES 224

/* A caller's frame, and the step from it. */
typedef struct
{
  guint64 pc, sp, fp, bx;
  lu_plain plain; /* or LU_PLAIN_END; 0: the step has to be made */
  guint64 known;  /* as in lu_plain_regs; without FP the step is not there either */
} LuMemoFrame;

_Static_assert(sizeof (LuMemoFrame) == 48, "four frames to three cache lines");

typedef struct _LuMemo LuMemo;

/* Frames that were taken over, after `n_added_before` frames that were not. */
typedef struct
{
  guint n_added_before;
  guint low, high, at; /* at: where they come to be */
} LuMemoPiece;

#define LU_MEMO_MAX_PIECES 8

struct _LuMemo
{
  LuMemoFrame *frames; /* of the thread's last stack, the outermost one first */
  guint n_frames;
  guint n; /* of these, that are looked for further on */
  /* What this walk leaves behind: */
  guint n_pieces, n_added;
  LuMemoPiece pieces[LU_MEMO_MAX_PIECES];
  LuMemoFrame added[LU_STACK_MAX_FRAMES + 1]; /* leaf first; the last one need not be in use */

  guint64 n_followed; /* frames taken over so far */

  /* private */
  struct _LuMemoStack *stacks, *stack;
  LuMemoFrame *memory, *spare;
};

LuMemo *lu_memo_new (void);
void lu_memo_free (LuMemo *self);

/* Begins a stack of the thread in this space. */
void lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial);
/* Remembers the stack. */
void lu_memo_end (LuMemo *self);

/* Where in the copy the walk should look for a frame of the last stack; beyond the copy if nowhere.
 */
static inline guint64
lu_memo_next (const LuMemo *self, const struct lu_copy *copy)
{
  guint64 sp = self->n > 0 ? self->frames[self->n - 1].sp : 0;

  return self->n == 0 ? G_MAXUINT64 : sp > copy->start ? sp - copy->start : 0;
}

/* `frames` [low, high) were met, from high - 1 on, and no other in between. The one at `low` is
 * where the walk is now; it will be added, unless it is the end. */
static inline void
lu_memo_keep (LuMemo *self, guint low, guint high, gboolean is_end)
{
  self->pieces[self->n_pieces++] =
      (LuMemoPiece){ .n_added_before = self->n_added, .low = is_end ? low : low + 1, .high = high };
  self->n_followed += high - low;
  self->n = self->n_pieces < LU_MEMO_MAX_PIECES ? low : 0;
}

/* Whether the step from the frame is the one from these registers. */
static inline gboolean
lu_memo_frame_is (const LuMemoFrame *self, const struct lu_plain_regs *regs, guint64 start)
{
  lu_plain plain = self->plain;
  gboolean uses_fp = (plain & (LU_PLAIN_FP_SLOT | LU_PLAIN_BY_FP)) != LU_PLAIN_FP_SLOT;
  gboolean uses_bx = (plain & (LU_PLAIN_BX_SLOT | LU_PLAIN_BX_LOST)) == 0;

  return self->pc == regs->pc && self->sp - start == regs->offset && (plain & LU_PLAIN) != 0
         && ((self->known ^ regs->known) & LU_KNOWN_BX) == 0 && (self->fp == regs->fp || !uses_fp)
         && (self->bx == regs->bx || !uses_bx);
}

/* Whether the words that the step from `frame` reads lead to the one before it in the array, the
 * next one outward, whose stack pointer is at `end` in the copy. The frame's sp must be in it. */
static inline gboolean
lu_memo_leads_on (const LuMemoFrame *frame, guint64 end, const struct lu_copy *copy)
{
  const LuMemoFrame *caller = frame - 1;
  lu_plain plain = frame->plain;
  guint64 fp, bx;

  if (G_UNLIKELY (end > copy->size))
    return FALSE;
  fp = lu_copy_word (copy, end - LU_PLAIN_DEPTH (plain, LU_PLAIN_FP_SHIFT)) ^ caller->fp;
  bx = lu_copy_word (copy, end - LU_PLAIN_DEPTH (plain, LU_PLAIN_BX_SHIFT)) ^ caller->bx;
  fp = (plain & LU_PLAIN_FP_SLOT) != 0 ? fp : 0;
  bx = (plain & LU_PLAIN_BX_SLOT) != 0 ? bx : 0;
  return ((lu_copy_word (copy, end - 8) ^ caller->pc) | fp | bx) == 0;
}
