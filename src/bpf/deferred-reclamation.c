/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* deferred-reclamation.c - lets numbers rest before they are reused; see
 * deferred-reclamation.h. */

#include "deferred-reclamation.h"

#define WORD_BITS 64

void
lu_bpf_reclaim_init (LuBpfReclaim *self, guint n)
{
  guint n_words = (n + WORD_BITS - 1) / WORD_BITS;

  *self = (LuBpfReclaim){ .n = n_words * WORD_BITS };
  self->n_free = n;
  self->taken = g_new0 (guint64, n_words);
  self->gathered = g_new0 (guint64, n_words);
  self->sealed = g_new0 (guint64, n_words);
  for (guint i = n; i < self->n; i++)
    self->taken[i / WORD_BITS] |= G_GUINT64_CONSTANT (1) << i % WORD_BITS;
}

void
lu_bpf_reclaim_clear (LuBpfReclaim *self)
{
  g_free (self->taken);
  g_free (self->gathered);
  g_free (self->sealed);
  *self = (LuBpfReclaim){ 0 };
}

/* Returns the bits of word i that stand for the numbers [first, first + count). */
static guint64
mask_in_word (guint i, guint first, guint count)
{
  guint begin = MAX (first, i * WORD_BITS), end = MIN (first + count, (i + 1) * WORD_BITS);
  guint n = end - begin;

  return (n < WORD_BITS ? (G_GUINT64_CONSTANT (1) << n) - 1 : G_MAXUINT64) << begin % WORD_BITS;
}

static void
set_bits (guint64 *bits, guint first, guint count)
{
  for (guint i = first / WORD_BITS; i * WORD_BITS < first + count; i++)
    {
      guint64 mask = mask_in_word (i, first, count);

      g_assert ((bits[i] & mask) == 0);
      bits[i] |= mask;
    }
}

/* Returns the first number in [from, to) that is taken (or is not), or `to` if there is none. */
static guint
find_next (const LuBpfReclaim *self, guint from, guint to, gboolean is_taken)
{
  for (guint i = from / WORD_BITS; from < to; i++, from = i * WORD_BITS)
    {
      guint64 bits = is_taken ? self->taken[i] : ~self->taken[i];

      bits &= G_MAXUINT64 << from % WORD_BITS;
      if (bits != 0)
        return MIN (i * WORD_BITS + (guint) __builtin_ctzll (bits), to);
    }
  return to;
}

/* Returns the first run of `count` free numbers that begins in [from, to). */
static gint64
find_run (const LuBpfReclaim *self, guint from, guint to, guint count)
{
  while (from < to)
    {
      guint first = find_next (self, from, self->n, FALSE);
      guint end = find_next (self, first, first + MIN (count, self->n - first), TRUE);

      if (first >= to)
        break;
      if (end - first >= count)
        return first;
      from = end;
    }
  return -1;
}

static gint64
take_at (LuBpfReclaim *self, guint first, guint count)
{
  set_bits (self->taken, first, count);
  self->n_free -= count;
  self->next = first + count < self->n ? first + count : 0;
  return first;
}

gint64
lu_bpf_reclaim_take (LuBpfReclaim *self, guint count)
{
  gint64 first;

  if (count == 0 || count > self->n_free)
    return -1;
  first = find_run (self, self->next, self->n, count);
  if (first < 0)
    first = find_run (self, 0, self->next, count);
  return first >= 0 ? take_at (self, (guint) first, count) : -1;
}

gint64
lu_bpf_reclaim_take_some (LuBpfReclaim *self, guint least, guint most, guint *count)
{
  guint best = 0, best_at = 0;

  for (guint at = find_next (self, 0, self->n, FALSE); at < self->n && best < most;)
    {
      guint end = find_next (self, at, self->n, TRUE);

      if (end - at > best)
        {
          best = end - at;
          best_at = at;
        }
      at = find_next (self, end, self->n, FALSE);
    }
  *count = MIN (best, most);
  return best >= least && best > 0 ? take_at (self, best_at, *count) : -1;
}

void
lu_bpf_reclaim_put_back (LuBpfReclaim *self, guint first, guint count)
{
  for (guint i = first / WORD_BITS; i * WORD_BITS < first + count; i++)
    self->taken[i] &= ~mask_in_word (i, first, count);
  self->n_free += count;
}

void
lu_bpf_reclaim_give_back (LuBpfReclaim *self, guint first, guint count)
{
  set_bits (self->gathered, first, count);
  self->n_gathered += count;
}

void
lu_bpf_reclaim_release (LuBpfReclaim *self)
{
  if (self->n_sealed == 0)
    return;
  for (guint i = 0; i < self->n / WORD_BITS; i++)
    {
      self->taken[i] &= ~self->sealed[i];
      self->sealed[i] = 0;
    }
  self->n_free += self->n_sealed;
  self->n_sealed = 0;
}

void
lu_bpf_reclaim_pass (LuBpfReclaim *self, guint64 now, guint64 rest)
{
  guint64 *empty = self->sealed;

  if (self->n_sealed > 0 && now - self->sealed_at >= rest)
    lu_bpf_reclaim_release (self);
  if (self->n_sealed > 0 || self->n_gathered == 0)
    return;
  self->sealed = self->gathered;
  self->gathered = empty;
  self->n_sealed = self->n_gathered;
  self->n_gathered = 0;
  self->sealed_at = now;
}
