/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.c - keeps the last stack of each thread; see memo.h.
 *
 * A stack is kept from its outermost frame on, so that what two stacks share is in the same place
 * in both and needs not be moved. A walk leaves a list of pieces: frames it found by itself, and
 * ranges that it took over; usually new frames on top of one range. */

#include "unwind/memo.h"

#include <string.h>

#define N_STACKS_BITS 7
#define N_STACKS      (1u << N_STACKS_BITS)

typedef struct _LuMemoStack
{
  gint32 tid;
  guint n, n_same;     /* n_same: the outermost ones that the stack before it had, too */
  guint64 serial;      /* of the space; 0: empty */
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

void
lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial)
{
  Stack *stack = &self->stacks[(guint32) tid * 0x9e3779b1u >> (32 - N_STACKS_BITS)];

  if (stack->tid != tid || stack->serial != serial)
    {
      stack->tid = tid;
      stack->serial = serial;
      stack->n = stack->n_same = 0;
    }
  self->stack = stack;
  self->frames = stack->frames;
  self->n_frames = stack->n;
  self->n = stack->n_same > 0 ? stack->n_same : stack->n;
  self->n_pieces = self->n_added = 0;
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

/* How many of the outermost frames this stack and the last one have in common, to go by, if the
 * first piece's are among the outermost `high`. Also some that the walk found by itself. */
static guint
count_same (const LuMemo *self, guint high)
{
  const LuMemoPiece *piece = &self->pieces[0];
  const LuMemoFrame *last = &self->frames[piece->high];
  const LuMemoFrame *added = &self->added[piece->n_added_before];
  guint n_max = MIN (piece->n_added_before, self->n_frames - piece->high), n = 0;

  while (n < n_max && added[-1 - (int) n].pc == last[n].pc && added[-1 - (int) n].sp == last[n].sp)
    n++;
  return high + n;
}

/* The usual case: new frames on top of the outermost ones, which stay. FALSE: it is another. */
static gboolean
put_on_top (LuMemo *self, Stack *stack)
{
  const LuMemoPiece *piece = &self->pieces[0];
  guint n = piece->high + self->n_added;
  LuMemoFrame *to = &stack->frames[piece->high];

  if (self->n_pieces != 1 || piece->low != 0 || self->n_added != piece->n_added_before
      || n > LU_MEMO_FRAMES)
    return FALSE;
  stack->n = n;
  stack->n_same = count_same (self, piece->high);
  for (const LuMemoFrame *from = &self->added[self->n_added]; from > self->added; to++)
    *to = *--from;
  return TRUE;
}

static void
put_together (LuMemo *self, Stack *stack)
{
  gboolean is_moved;
  guint n = place_pieces (self, &is_moved);
  guint n_same =
      self->n_pieces > 0
          ? count_same (self, self->pieces[0].at + self->pieces[0].high - self->pieces[0].low)
          : 0;
  LuMemoFrame *frames = is_moved ? self->spare : stack->frames;

  put_pieces (self, frames, is_moved);
  if (is_moved)
    {
      self->spare = stack->frames;
      stack->frames = frames;
    }
  stack->n = MIN (n, LU_MEMO_FRAMES);
  stack->n_same = MIN (n_same, stack->n);
}

void
lu_memo_end (LuMemo *self)
{
  if (!put_on_top (self, self->stack))
    put_together (self, self->stack);
}
