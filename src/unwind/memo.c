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

#include "base/fetch.h"

#include <string.h>

#define N_STACKS_BITS 7
#define N_STACKS      (1u << N_STACKS_BITS)

/* From a stack's origin to a copy's start, either way; also a copy's size. So 32 bits are enough to
 * tell where a frame is. */
#define MAX_DISTANCE (G_GUINT64_CONSTANT (1) << 29)

/* What a frame that has to be walked takes of the stack, about. */
#define LEAF_SIZE 192

#define MAX_WORDS (3 * LU_MEMO_FRAMES + 1)

typedef struct _LuMemoStack
{
  gint32 tid;
  guint n;
  guint n_settled;     /* of these, with their words; most others never meet their like */
  guint64 serial;      /* of the space; 0: empty */
  guint64 origin;      /* somewhere near the thread's stack */
  LuMemoFrame *frames; /* room for LU_MEMO_FRAMES */
  LuMemoWord *words;   /* room for MAX_WORDS */
} Stack;

LuMemo *
lu_memo_new (void)
{
  LuMemo *self = g_new0 (LuMemo, 1);

  /* Most of it is never touched: threads are few and stacks short. */
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
word_at (guint32 end, guint place, guint64 value, guint frame)
{
  return (LuMemoWord){ .value = value, .at = end + 8 * place - LU_PLAIN_REACH, .frame = frame };
}

/* The registers that the steps from a frame on use; `outer`: that those from the next one on do. A
 * step that has to be made may use all; a guess goes by the frame pointer alone. */
static inline guint
live_registers (lu_plain plain, guint outer)
{
  guint flags = (guint) plain, live;

  live = outer & ~(flags & (LU_PLAIN_FP_SLOT | LU_PLAIN_BX_SLOT));
  live &= ~((flags & LU_PLAIN_BX_LOST) / LU_PLAIN_BX_LOST * LU_KNOWN_BX);
  live |= (flags & LU_PLAIN_BY_FP) / LU_PLAIN_BY_FP * LU_KNOWN_FP;
  live |= (flags & LU_PLAIN) != 0 ? 0 : LU_KNOWN_FP | LU_KNOWN_BX;
  return (flags & LU_PLAIN_END) != 0 ? 0 : live;
}

/* After frames[i] has come on top of the ones before it. No branches: which words matter cannot be
 * foreseen, so all are written. */
static inline void
settle (LuMemoFrame *frames, LuMemoWord *words, guint i)
{
  LuMemoFrame *frame = &frames[i];
  lu_plain plain = frame->plain;
  guint is_guessed = (plain & LU_PLAIN_GUESSED) / LU_PLAIN_GUESSED;
  guint is_plain = (plain & LU_PLAIN) / LU_PLAIN;
  gboolean is_special = is_guessed >= is_plain;
  guint live = LU_KNOWN_FP | LU_KNOWN_BX, special = i;
  LuMemoWord *to = words;

  if (i > 0)
    {
      const LuMemoFrame *outer = frame - 1;
      guint32 end = outer->frame.stack_offset;
      guint slots;

      live = outer->live;
      slots = (guint) plain & (live | is_guessed);
      special = is_special ? i : outer->special;
      to += outer->words_end;
      *to = word_at (end, LU_PLAIN_MAX_PLACE, outer->frame.pc, i);
      to += is_plain;
      *to = word_at (end, LU_PLAIN_PLACE (plain, LU_PLAIN_FP_SHIFT), outer->fp, i);
      to += slots & LU_PLAIN_FP_SLOT;
      *to = word_at (end, LU_PLAIN_PLACE (plain, LU_PLAIN_BX_SHIFT), outer->bx, i);
      to += (slots & LU_PLAIN_BX_SLOT) / LU_PLAIN_BX_SLOT;
    }
  frame->words_end = (guint16) (to - words);
  frame->special = (guint16) special;
  frame->live = (guint8) live_registers (plain, live);
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
  /* Those that were not in the copy stay, too: which words matter further in is because of them. */
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

/* Settles frames [from, to), of which those from `kept` on were in the same places before. If one
 * of them is what it was, those after it are, too; but settle() has written one word more. */
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

/* Settles the pieces that stay where they are, and what is before them. Returns the number of
 * frames that are settled. */
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

/* The usual case: new frames on top of the outermost ones, which stay. So do those that were not in
 * the copy: they may be in the next one. */
static inline gboolean
is_on_top (const LuMemo *self)
{
  const LuMemoPiece *piece = &self->pieces[0];

  return self->n_pieces == 1 && !self->is_changed && piece->low == self->low
         && self->n_added == piece->n_added_before;
}

/* Puts the last walk's stack in place. What is new on top of it is left where it is if the thread
 * is the same one: the number of such frames. */
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

/* The first word of [word, limit) that is another in the copy, or is not in it; or `limit`. */
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

/* Whether the frame, which is not settled yet, may be in this stack, as `outer` is: most that are
 * not differ in the return address. */
static inline gboolean
may_have (const LuMemo *self, const struct lu_copy *copy, const LuMemoFrame *outer,
          const LuMemoFrame *frame)
{
  guint32 offset = lu_memo_offset (self, outer) - sizeof (guint64);

  return (frame->plain & LU_PLAIN) == 0
         || (offset <= copy->size - sizeof (guint64)
             && lu_copy_word (copy, offset) == outer->frame.pc);
}

/* Whether this stack has frames[n], too; it has those before. */
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

/* This stack has frames [0, n), none of the others is settled, and `n_more` are in `added`: puts
 * them in place as far as it has them, too. Returns the number of all that it has. */
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

/* Finds the frames that this stack has, too, if it has the innermost one of them. Of the last stack
 * `n_frames` are in place, the first `n` of them settled, and `n_more` in `added`. */
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
