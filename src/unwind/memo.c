/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memo.c - keeps the last stack of each thread; see memo.h.
 *
 * A stack is kept from its outermost frame on, so that the frames that two stacks share have the
 * same index in both and need not be moved. A walk leaves a list of pieces: frames that it found
 * itself, and ranges that it copied; usually there are new frames on top of one range. They are put
 * together when the next walk starts: by then the CPU has finished the writes, and if that walk is
 * of the same thread, only those new frames are added that it has too. */

#include "unwind/memo.h"

#include "base/fetch.h"

#define N_STACKS_BITS 7
#define N_STACKS      (1u << N_STACKS_BITS)

/* The largest distance of a copy from its stack's origin, and the largest size of a copy, so that
 * 32 bits locate a frame. */
#define MAX_DISTANCE (G_GUINT64_CONSTANT (1) << 29)

/* The usual size of a frame near the leaf, in bytes. */
#define LEAF_SIZE 192

#define MAX_WORDS (3 * LU_MEMO_FRAMES + 1)

typedef struct _LuMemoStack
{
  gint32 tid;
  guint n;
  guint n_settled;     /* of these, the frames with words; most of the others are never compared */
  guint64 serial;      /* of the space; 0: empty */
  guint64 origin;      /* an address near the thread's stack */
  LuMemoFrame *frames; /* room for LU_MEMO_FRAMES */
  LuMemoWord *words;   /* room for MAX_WORDS */
} Stack;

LuMemo *
lu_memo_new (void)
{
  LuMemo *self = g_new0 (LuMemo, 1);

  /* Most pages are never touched: threads are few and stacks short. */
  self->memory = g_new0 (LuMemoFrame, (N_STACKS + 1) * LU_MEMO_FRAMES);
  self->spare = self->memory + N_STACKS * LU_MEMO_FRAMES;
  self->stacks = g_new0 (Stack, N_STACKS);
  self->word_memory = g_new0 (LuMemoWord, N_STACKS * MAX_WORDS);
  for (guint i = 0; i < N_STACKS; i++)
    {
      self->stacks[i].frames = self->memory + i * LU_MEMO_FRAMES;
      self->stacks[i].words = self->word_memory + i * MAX_WORDS;
    }
  return self;
}

void
lu_memo_free (LuMemo *self)
{
  if (self == NULL)
    return;
  g_free (self->stacks);
  g_free (self->memory);
  g_free (self->word_memory);
  g_free (self);
}

static inline LuMemoWord
word_at (guint32 end, guint slot, guint64 value, guint frame)
{
  return (LuMemoWord){ .value = value, .at = end + 8 * slot - LU_COMPACT_REACH, .frame = frame };
}

/* Returns the registers that the step from a frame, or one further out, uses. `outer` is the same
 * for the next frame. A step that has to be made each time may use all registers; a frame-pointer
 * step uses FP alone. */
static inline guint
live_registers (lu_compact_rule compact, guint outer)
{
  guint flags = (guint) compact, live;

  live = outer & ~(flags & (LU_COMPACT_FP_SLOT | LU_COMPACT_BX_SLOT));
  live &= ~((flags & LU_COMPACT_BX_LOST) / LU_COMPACT_BX_LOST * LU_KNOWN_BX);
  live |= (flags & LU_COMPACT_BY_FP) / LU_COMPACT_BY_FP * LU_KNOWN_FP;
  live |= (flags & LU_COMPACT) != 0 ? 0 : LU_KNOWN_FP | LU_KNOWN_BX;
  return (flags & LU_COMPACT_END) != 0 ? 0 : live;
}

/* Finds the words of frames[i], which lies on top of the frames before it. Every candidate is
 * written, without branches: which words matter is not predictable. */
static inline void
settle (LuMemoFrame *frames, LuMemoWord *words, guint i)
{
  LuMemoFrame *frame = &frames[i];
  lu_compact_rule compact = frame->compact;
  guint is_inferred = (compact & LU_COMPACT_FP_STEPPED) / LU_COMPACT_FP_STEPPED;
  guint is_compact = (compact & LU_COMPACT) != 0;
  gboolean is_special = is_inferred >= is_compact;
  guint live = LU_KNOWN_FP | LU_KNOWN_BX, special = i;
  LuMemoWord *to = words;

  if (i > 0)
    {
      const LuMemoFrame *outer = frame - 1;
      guint32 end = outer->frame.stack_offset;
      guint slots;

      live = outer->live;
      slots = (guint) compact & (live | is_inferred);
      special = is_special ? i : outer->special;
      to += outer->words_end;
      *to = word_at (end, LU_COMPACT_MAX_SLOT, outer->frame.pc, i);
      to += is_compact;
      *to = word_at (end, (guint8) (compact >> LU_COMPACT_FP_SHIFT), outer->fp, i);
      to += slots & LU_COMPACT_FP_SLOT;
      *to = word_at (end, (guint8) (compact >> LU_COMPACT_BX_SHIFT), outer->bx, i);
      to += (slots & LU_COMPACT_BX_SLOT) / LU_COMPACT_BX_SLOT;
    }
  frame->words_end = (guint16) (to - words);
  frame->special = (guint16) special;
  frame->live = (guint8) live_registers (compact, live);
}

/* Copies new frames [from, to) in reverse order to `at` and up. */
static void
put_added (const LuMemo *self, LuMemoFrame *frames, guint from, guint to, guint at)
{
  while (to > from && at < LU_MEMO_FRAMES)
    frames[at++] = self->added[--to];
}

/* Finds the index of each piece; returns the number of all frames. */
static guint
place_pieces (LuMemo *self, gboolean *is_moved)
{
  guint at = 0, n_added = self->n_added;

  *is_moved = FALSE;
  /* Frames outside the copy stay too: they decide which words matter further in. */
  if (self->n_pieces > 0)
    {
      LuMemoPiece *outermost = &self->pieces[self->n_pieces - 1];

      if (outermost->low == self->low && outermost->n_added_before == n_added)
        outermost->low = 0;
    }
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

/* Copies all pieces to their index; frames above the limit are dropped at the leaf. */
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

/* Settles frames [from, to). Those from `kept` on had the same index before, so once one of them
 * comes out unchanged, the rest are unchanged too. settle() has written one word too many then. */
static void
settle_range (LuMemoFrame *frames, LuMemoWord *words, guint from, guint kept, guint to)
{
  for (guint i = from; i < to; i++)
    {
      LuMemoFrame *frame = &frames[i];
      guint end = frame->words_end, special = frame->special, live = frame->live;
      LuMemoWord *next = words + (i >= kept ? end : 0), next_was = *next;

      settle (frames, words, i);
      if (i >= kept && i > 0 && frame->words_end > frame[-1].words_end && frame->words_end == end
          && frame->special == special && frame->live == live)
        {
          *next = next_was;
          return;
        }
    }
}

/* Settles the pieces that keep their index, and the frames before them. Returns the number of
 * settled frames. */
static guint
settle_pieces (LuMemo *self, LuMemoFrame *frames, LuMemoWord *words, guint n)
{
  guint from = 0;

  for (guint i = self->n_pieces; i-- > 0;)
    {
      const LuMemoPiece *piece = &self->pieces[i];
      guint end = piece->at + (piece->high - piece->low);

      if (piece->at != piece->low || end > n)
        break;
      settle_range (frames, words, from, piece->at, end);
      from = end;
    }
  return from;
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
  stack->n_settled = settle_pieces (self, frames, stack->words, stack->n);
}

/* Returns whether the walk has only put new frames on top of outer ones that stay, which is usual.
 * Frames outside the copy stay too: they may be in the next one. */
static inline gboolean
is_on_top (const LuMemo *self)
{
  const LuMemoPiece *piece = &self->pieces[0];

  return self->n_pieces == 1 && !self->is_changed && piece->low == self->low
         && self->n_added == piece->n_added_before;
}

/* Puts the last walk's stack in place. If `next` is the same thread, new frames on top stay in
 * `added`; returns their number. */
static inline guint
put_last (LuMemo *self, const Stack *next)
{
  Stack *stack = self->stack;

  if (!is_on_top (self))
    {
      put_together (self, stack);
      return 0;
    }
  stack->n = stack->n_settled = self->pieces[0].high;
  if (stack == next)
    return self->n_added;
  put_added (self, stack->frames, 0, self->n_added, stack->n);
  stack->n = MIN (stack->n + self->n_added, LU_MEMO_FRAMES);
  return 0;
}

/* Returns the first word of [word, limit) that differs in the copy or is outside it; or `limit`. */
static inline const LuMemoWord *
find_other (const LuMemoWord *word, const LuMemoWord *limit, guint32 start,
            const struct lu_copy *copy)
{
  guint64 last = copy->size - sizeof (guint64);

  for (; word < limit; word++)
    {
      guint32 offset = word->at - start;

      if (offset > last || lu_copy_word (copy, offset) != word->value)
        break;
    }
  return word;
}

/* Returns FALSE if this stack has `outer` but not the unsettled `frame`, going by the return
 * address, in which most frames differ. */
static inline gboolean
may_have (const LuMemo *self, const struct lu_copy *copy, const LuMemoFrame *outer,
          const LuMemoFrame *frame)
{
  guint32 offset = lu_memo_offset (self, outer) - sizeof (guint64);

  return (frame->compact & LU_COMPACT) == 0
         || (offset <= copy->size - sizeof (guint64)
             && lu_copy_word (copy, offset) == outer->frame.pc);
}

/* Returns whether this stack has frames[n]; it has the frames before. */
static inline gboolean
has_one_more (LuMemo *self, const struct lu_copy *copy, guint n)
{
  LuMemoFrame *frames = self->frames;
  const LuMemoWord *from = self->words + frames[n - 1].words_end, *limit;

  settle (frames, self->words, n);
  limit = self->words + frames[n].words_end;
  return lu_memo_offset (self, &frames[n]) <= copy->size
         && find_other (from, limit, self->start, copy) == limit;
}

/* This stack has frames [0, n); the rest are not settled, and `n_more` are in `added`. Puts those
 * in place that this stack has too. Returns the number of frames that it has. */
static guint
compare_more (LuMemo *self, const struct lu_copy *copy, guint n, guint n_more)
{
  LuMemoFrame *frames = self->frames;

  for (; n < self->n_frames; n++)
    if (!may_have (self, copy, &frames[n - 1], &frames[n]) || !has_one_more (self, copy, n))
      return n;
  for (; n_more > 0 && n < LU_MEMO_FRAMES; n++)
    {
      const LuMemoFrame *added = &self->added[--n_more];

      if (!may_have (self, copy, &frames[n - 1], added))
        break;
      frames[n] = *added;
      if (!has_one_more (self, copy, n))
        break;
    }
  return n;
}

/* Finds the frames of the last stack that this one has, provided that the walk reaches the
 * innermost of them. `n_frames` are in place, the first `n` of them settled, and `n_more` are in
 * `added`. */
static void
compare (LuMemo *self, struct lu_copy copy, guint n, guint n_more)
{
  LuMemoFrame *frames = self->frames;
  const LuMemoWord *word = self->words, *limit;
  guint low = 0;

  while (low < self->n_frames && lu_memo_offset (self, &frames[low]) > copy.size)
    low++;
  self->low = self->n = self->special = low;
  if (low == self->n_frames)
    return;
  for (; n <= low; n++)
    settle (frames, self->words, n);
  limit = word + frames[n - 1].words_end;
  word = find_other (word + frames[low].words_end, limit, self->start, &copy);
  if (word < limit)
    n = word->frame;
  if (G_UNLIKELY (lu_memo_offset (self, &frames[n - 1]) > copy.size))
    while (lu_memo_offset (self, &frames[--n - 1]) > copy.size)
      continue;
  else if (word == limit)
    n = compare_more (self, &copy, n, n_more);
  self->n = n;
  self->n_frames = MAX (n, self->n_frames);
  self->special = MAX (frames[n - 1].special, low);
}

static inline Stack *
stack_of (const LuMemo *self, gint32 tid)
{
  return &self->stacks[(guint32) tid * 0x9e3779b1u >> (32 - N_STACKS_BITS)];
}

void
lu_memo_expect (const LuMemo *self, gint32 tid, const guint8 *bytes, guint64 size, guint64 sp)
{
  const Stack *stack = stack_of (self, tid);
  const LuMemoWord *word = stack->words, *limit;
  guint64 top = (gsize) bytes, origin = top + (stack->origin - sp);
  guint64 leaf_end = top + MIN (size, LEAF_SIZE * (1 + (guint64) self->n_added));

#pragma GCC unroll 4
  for (; top < leaf_end; top += LU_CACHE_LINE)
    lu_fetch_ahead ((gconstpointer) (gsize) top);
  if (stack->tid != tid || stack->n_settled == 0)
    return;
  limit = word + stack->frames[stack->n_settled - 1].words_end;
#pragma GCC unroll 4
  for (; word < limit; word++)
    lu_fetch_ahead ((gconstpointer) (gsize) (origin + (guint64) (gint32) word->at));
}

void
lu_memo_begin (LuMemo *self, gint32 tid, guint64 serial, const struct lu_copy *copy)
{
  Stack *stack = stack_of (self, tid);
  guint n_more = 0;

  if (self->stack != NULL)
    n_more = put_last (self, stack);
  if (stack->tid != tid || stack->serial != serial
      || copy->start - stack->origin + MAX_DISTANCE >= 2 * MAX_DISTANCE)
    {
      stack->tid = tid;
      stack->serial = serial;
      stack->origin = copy->start;
      stack->n = stack->n_settled = n_more = 0;
    }
  if (G_UNLIKELY (copy->size > MAX_DISTANCE))
    stack->serial = stack->n = stack->n_settled = n_more = 0;
  self->stack = stack;
  self->start = (guint32) (copy->start - stack->origin);
  self->frames = stack->frames;
  self->words = stack->words;
  self->n_frames = stack->n;
  self->is_changed = FALSE;
  compare (self, *copy, stack->n_settled, n_more);
  self->n_pieces = self->n_added = 0;
}

void
lu_memo_forget (LuMemo *self)
{
  self->stack->serial = 0;
  self->n_pieces = self->n_added = 0;
}
