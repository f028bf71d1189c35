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
  guint n;
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
      stack->n = 0;
    }
  self->stack = stack;
  self->frames = stack->frames;
  self->n = stack->n;
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

void
lu_memo_end (LuMemo *self)
{
  Stack *stack = self->stack;
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
