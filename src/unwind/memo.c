/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.c - keeps the last stack of each thread; see memo.h.
 *
 * A stack is kept from its outermost frame on, so that what two stacks share is in the same place
 * in both and needs not be moved. A walk leaves a list of pieces: frames it found by itself, and
 * ranges that it took over; usually new frames on top of one range. They are put together only when
 * the next walk begins: by then the CPU has written what would still be on its way, and of the same
 * thread no more is put on top than that walk has, too. */

#include "unwind/memo.h"

#include <string.h>

#define N_STACKS_BITS 7
#define N_STACKS      (1u << N_STACKS_BITS)

/* From a stack's origin to a copy's start, either way; also a copy's size. So 32 bits are enough to
 * tell where a frame is. */
#define MAX_DISTANCE (G_GUINT64_CONSTANT (1) << 29)

typedef struct _LuMemoStack
{
  gint32 tid;
  guint n;
  guint64 serial;      /* of the space; 0: empty */
  guint64 origin;      /* somewhere near the thread's stack */
  LuMemoFrame *frames; /* room for LU_MEMO_FRAMES */
} Stack;

LuMemo *
lu_memo_new (void)
{
  LuMemo *self = g_new0 (LuMemo, 1);

  /* Most of it is never touched: threads are few and stacks short. */
  self->memory = g_new0 (LuMemoFrame, (N_STACKS + 1) * LU_MEMO_FRAMES);
  self->spare = self->memory + N_STACKS * LU_MEMO_FRAMES;
  self->stacks = g_new0 (Stack, N_STACKS);
  for (guint i = 0; i < N_STACKS; i++)
    self->stacks[i].frames = self->memory + i * LU_MEMO_FRAMES;
  return self;
}

void
lu_memo_free (LuMemo *self)
{
  if (self == NULL)
    return;
  g_free (self->stacks);
  g_free (self->memory);
  g_free (self);
}

/* Copies new frames [from, to) so that the last one comes to be at `at`. */
static void
put_added (const LuMemo *self, LuMemoFrame *frames, guint from, guint to, guint at)
{
  while (to > from && at < LU_MEMO_FRAMES)
    frames[at++] = self->added[--to];
}

/* Finds where pieces come to be; returns the number of all frames. */
static guint
place_pieces (LuMemo *self, gboolean *is_moved)
{
  guint at = 0, n_added = self->n_added;

  *is_moved = FALSE;
  for (guint i = self->n_pieces; i-- > 0;)
    {
      LuMemoPiece *piece = &self->pieces[i];

      at += n_added - piece->n_added_before;
      n_added = piece->n_added_before;
      piece->at = at;
      *is_moved |= at != piece->low;
      at += piece->high - piece->low;
    }
  return at + n_added;
}

/* The frames that stay are no more than what was kept; what grows is cut off at the leaf. */
static void
put_pieces (LuMemo *self, LuMemoFrame *frames, gboolean is_moved)
{
  const LuMemoFrame *last = self->stack->frames;
  guint at = 0, n_added = self->n_added;

  for (guint i = self->n_pieces; i-- > 0;)
    {
      const LuMemoPiece *piece = &self->pieces[i];
      guint n = piece->high - piece->low;

      put_added (self, frames, piece->n_added_before, n_added, at);
      n_added = piece->n_added_before;
      if (is_moved && piece->at < LU_MEMO_FRAMES)
        memcpy (frames + piece->at, last + piece->low,
                MIN (n, LU_MEMO_FRAMES - piece->at) * sizeof *frames);
      at = piece->at + n;
    }
  put_added (self, frames, 0, n_added, at);
}

static __attribute__ ((noinline)) void
put_together (LuMemo *self, Stack *stack)
{
  gboolean is_moved;
  guint n = place_pieces (self, &is_moved);
  LuMemoFrame *frames = is_moved ? self->spare : stack->frames;

  put_pieces (self, frames, is_moved);
  if (is_moved)
    {
      self->spare = stack->frames;
      stack->frames = frames;
    }
  stack->n = MIN (n, LU_MEMO_FRAMES);
}

/* The usual case: new frames on top of the outermost ones, which stay. So do those that were not in
 * the copy: they may be in the next one. */
static inline gboolean
is_on_top (const LuMemo *self)
{
  const LuMemoPiece *piece = &self->pieces[0];

  return self->n_pieces == 1 && piece->low == self->low && self->n_added == piece->n_added_before;
}

/* Whether the words of the step from `frame` lead to a caller with this pc, at `end`, as they did.
 * Both frames are in the copy. */
static inline gboolean
leads_on (const LuMemoFrame *frame, guint64 pc, guint64 end, const struct lu_copy *copy)
{
  guint64 fp = lu_plain_word (copy, end, LU_PLAIN_PLACE (frame->plain, LU_PLAIN_FP_SHIFT));
  guint64 bx = lu_plain_word (copy, end, LU_PLAIN_PLACE (frame->plain, LU_PLAIN_BX_SHIFT));

  return ((lu_copy_word (copy, end - 8) ^ pc) | (fp ^ frame->words.fp) | (bx ^ frame->words.bx))
         == 0;
}

/* How far a comparison has come: a frame that both stacks have. */
typedef struct
{
  guint64 pc;
  guint32 offset, start; /* start: as LuMemo has it */
  gboolean is_special;   /* the frame's step is no plain rule's */
} Reached;

/* Goes on to the next frame inward. FALSE: from that one the stack is another. */
static inline gboolean
reach (Reached *self, const LuMemoFrame *frame, const struct lu_copy *copy)
{
  guint32 offset = frame->frame.stack_offset - self->start;

  if (offset > copy->size)
    return FALSE;
  self->is_special = (frame->plain & (LU_PLAIN | LU_PLAIN_GUESSED)) != LU_PLAIN;
  if (!(G_UNLIKELY (self->is_special) && (frame->plain & LU_PLAIN) == 0)
      && !leads_on (frame, self->pc, self->offset, copy))
    return FALSE;
  self->pc = frame->frame.pc;
  self->offset = offset;
  return TRUE;
}

/* Finds the frames that this stack has, too, if it has the innermost one of them. Of the last stack
 * `n_frames` are in place, and `n_more` in `added`; of those the same ones are put there. */
static void
compare (LuMemo *self, struct lu_copy copy, guint n_more)
{
  LuMemoFrame *frames = self->frames, *frame = frames, *special;
  const LuMemoFrame *limit = frames + self->n_frames, *more = &self->added[n_more];
  Reached reached = { .start = self->start };

  while (frame < limit && lu_memo_offset (self, frame) > copy.size)
    frame++;
  self->low = self->n = self->special = (guint) (frame - frames);
  if (frame == limit)
    return;
  special = frame;
  reached.pc = frame->frame.pc;
  reached.offset = lu_memo_offset (self, frame);
  for (frame++; frame < limit && reach (&reached, frame, &copy); frame++)
    if (G_UNLIKELY (reached.is_special))
      special = frame;
  if (frame == limit)
    for (limit = frames + LU_MEMO_FRAMES;
         more > self->added && frame < limit && reach (&reached, more - 1, &copy); frame++)
      {
        *frame = *--more;
        if (G_UNLIKELY (reached.is_special))
          special = frame;
      }
  self->n = (guint) (frame - frames);
  self->n_frames = MAX (self->n, self->n_frames);
  self->special = (guint) (special - frames);
}

void
lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial, const struct lu_copy *copy)
{
  Stack *stack = &self->stacks[(guint32) tid * 0x9e3779b1u >> (32 - N_STACKS_BITS)];
  guint n_more = 0;

  if (self->stack == stack && is_on_top (self))
    {
      stack->n = self->pieces[0].high;
      n_more = self->n_added;
    }
  else if (self->stack != NULL)
    put_together (self, self->stack);
  if (stack->tid != tid || stack->serial != serial
      || copy->start - stack->origin + MAX_DISTANCE >= 2 * MAX_DISTANCE)
    {
      stack->tid = tid;
      stack->serial = serial;
      stack->origin = copy->start;
      stack->n = n_more = 0;
    }
  if (G_UNLIKELY (copy->size > MAX_DISTANCE))
    stack->serial = stack->n = n_more = 0;
  self->stack = stack;
  self->start = (guint32) (copy->start - stack->origin);
  self->frames = stack->frames;
  self->n_frames = stack->n;
  compare (self, *copy, n_more);
  self->n_pieces = self->n_added = 0;
}

void
lu_memo_forget (LuMemo *self)
{
  self->stack->serial = 0;
  self->n_pieces = self->n_added = 0;
}
