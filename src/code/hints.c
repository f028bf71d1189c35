/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hints.c - see hints.h. */

#include "code/hints.h"

#include "code/decoder.h"

#include <string.h>

/* The longest instruction, in bytes */
#define LONGEST 15
/* Functions are usually smaller, so that a branch which leads farther leads to another part of it.
 */
#define MAX_NEAR 0x8000

struct _LuCodeHints
{
  GArray *segments; /* reference */
  gsize *first;     /* bits before those of each segment; owned */
  guint8 *bits;     /* owned */
  guint8 *often;    /* owned; of those, the ones that bytes of code lead to twice */
  guint8 *parts;    /* owned; to these, bytes of code branch from far away */
};

/* Returns the bit of an address, and its segment; FALSE: it is in none. */
static gboolean
find_bit (const LuCodeHints *self, guint64 address, gsize *bit, const LuCodeBytes **found)
{
  guint low = 0, high = self->segments->len;
  const LuCodeBytes *segment;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->segments, LuCodeBytes, middle).start <= address)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0)
    return FALSE;
  segment = &g_array_index (self->segments, LuCodeBytes, low - 1);
  *bit = self->first[low - 1] + (address - segment->start);
  *found = segment;
  return address - segment->start < segment->size;
}

void
lu_code_hints_add (LuCodeHints *self, guint64 address)
{
  const LuCodeBytes *segment;
  gsize bit;

  if (find_bit (self, address, &bit, &segment))
    self->bits[bit / 8] |= (guint8) (1 << bit % 8);
}

static gboolean
has (const LuCodeHints *self, const guint8 *bits, guint64 address)
{
  const LuCodeBytes *segment;
  gsize bit;

  return find_bit (self, address, &bit, &segment) && (bits[bit / 8] >> bit % 8 & 1) != 0;
}

gboolean
lu_code_hints_has (const LuCodeHints *self, guint64 address)
{
  return has (self, self->bits, address);
}

gboolean
lu_code_hints_has_often (const LuCodeHints *self, guint64 address)
{
  return has (self, self->often, address);
}

gboolean
lu_code_hints_is_part (const LuCodeHints *self, guint64 address)
{
  return has (self, self->parts, address);
}

/* Returns how far behind `end` the place is to which the 32 bits before it lead. */
static gint64
displacement_at (const LuCodeBytes *range, gsize end)
{
  gint32 displacement;

  memcpy (&displacement, range->bytes + end - sizeof displacement, sizeof displacement);
  return displacement;
}

/* Adds the place to which the 32 bits before `end` lead. Calls lead to no data. */
static void
add_target (LuCodeHints *self, const LuCodeBytes *range, gsize end, gboolean is_call)
{
  guint64 target = range->start + end + (guint64) displacement_at (range, end);
  const LuCodeBytes *segment;
  gsize bit;

  if (find_bit (self, target, &bit, &segment) && !(is_call && segment->bytes == NULL))
    {
      guint8 mask = (guint8) (1 << bit % 8);

      self->often[bit / 8] |= self->bits[bit / 8] & mask;
      self->bits[bit / 8] |= mask;
    }
}

/* Adds the place to which the 32 bits before `end` branch, if that is far away. */
static void
add_part (LuCodeHints *self, const LuCodeBytes *range, gsize end)
{
  gint64 displacement = displacement_at (range, end);
  const LuCodeBytes *segment;
  gsize bit;

  if ((displacement > MAX_NEAR || displacement < -MAX_NEAR)
      && find_bit (self, range->start + end + (guint64) displacement, &bit, &segment)
      && segment->bytes != NULL)
    self->parts[bit / 8] |= (guint8) (1 << bit % 8);
}

/* Looks for e8 (a call), 8d with an address relative to the instruction (lea), and 0f 80 to 0f 8f
 * (a conditional jump), at every byte. */
static void
search (LuCodeHints *self, const LuCodeBytes *range)
{
  const guint8 *bytes = range->bytes;

  for (gsize at = 0; at + 6 <= range->size; at++)
    if (bytes[at] == 0xe8)
      add_target (self, range, at + 5, TRUE);
    else if (bytes[at] == 0x8d && (bytes[at + 1] & 0xc7) == 5)
      add_target (self, range, at + 6, FALSE);
    else if (bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x80)
      add_part (self, range, at + 6);
}

LuCodeHints *
lu_code_hints_new (const GArray *ranges, GArray *segments)
{
  LuCodeHints *self = g_new0 (LuCodeHints, 1);
  gsize n_bits = 0;

  self->segments = g_array_ref (segments);
  self->first = g_new0 (gsize, segments->len);
  for (guint i = 0; i < segments->len; i++)
    {
      self->first[i] = n_bits;
      n_bits += g_array_index (segments, LuCodeBytes, i).size;
    }
  self->bits = g_new0 (guint8, n_bits / 8 + 1);
  self->often = g_new0 (guint8, n_bits / 8 + 1);
  self->parts = g_new0 (guint8, n_bits / 8 + 1);
  for (guint i = 0; i < ranges->len; i++)
    search (self, &g_array_index (ranges, LuCodeBytes, i));
  return self;
}

gboolean
lu_code_is_behind_padding (const LuCodeBytes *range, gsize at)
{
  LuOp op;

  for (gsize size = 1; size <= LONGEST && size <= at; size++)
    if (lu_decoder_decode (range->bytes + at - size, size, range->start + at - size, &op)
        && op.is_padding && op.size == size)
      return TRUE;
  return FALSE;
}

gboolean
lu_code_hints_is_start (const LuCodeHints *self, const LuCodeBytes *range, gsize at)
{
  return lu_code_hints_has (self, range->start + at) && lu_code_is_behind_padding (range, at);
}

void
lu_code_hints_free (LuCodeHints *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->segments);
  g_free (self->first);
  g_free (self->bits);
  g_free (self->often);
  g_free (self->parts);
  g_free (self);
}
