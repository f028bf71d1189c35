/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-order.c - an array that is sorted once per round; records with equal times keep the order
 * of the file. */

#include "input/record-order.h"

void
lu_record_order_init (LuRecordOrder *self)
{
  *self = (LuRecordOrder){ 0 };
  self->entries = g_array_new (FALSE, FALSE, sizeof (LuOrderEntry));
}

void
lu_record_order_clear (LuRecordOrder *self)
{
  if (self->entries == NULL)
    return;
  for (gsize i = self->next; i < self->entries->len; i++)
    g_free (g_array_index (self->entries, LuOrderEntry, i).held);
  g_clear_pointer (&self->entries, g_array_unref);
}

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const LuOrderEntry *left = a, *right = b;

  if (left->time != right->time)
    return left->time < right->time ? -1 : 1;
  return (left->location > right->location) - (left->location < right->location);
}

static void
drop_given (LuRecordOrder *self)
{
  if (self->next > 0)
    g_array_remove_range (self->entries, 0, self->next);
  self->next = self->ready = 0;
}

/* Sorts the waiting records and makes those up to `limit` ready. */
static void
flush (LuRecordOrder *self, guint64 limit)
{
  drop_given (self);
  g_array_sort (self->entries, compare_entries);
  while (self->ready < self->entries->len
         && g_array_index (self->entries, LuOrderEntry, self->ready).time <= limit)
    self->ready++;
}

static void
flush_half (LuRecordOrder *self)
{
  gsize middle;

  flush (self, 0);
  middle = (self->entries->len + 1) / 2;
  if (self->ready < middle)
    self->ready = middle;
}

void
lu_record_order_add (LuRecordOrder *self, guint64 time, guint64 position, guint32 size,
                     gconstpointer bytes)
{
  LuOrderEntry entry = { .time = time, .location = position << 16 | (size & 0xffff) };

  g_assert (self->next == self->ready);
  drop_given (self);
  if (time != 0 && time < self->given_time)
    {
      self->n_late++;
      entry.time = 0;
    }
  if (bytes != NULL)
    {
      entry.held = g_memdup2 (bytes, size);
      self->held += size;
    }
  if (time > self->round_time)
    self->round_time = time;
  g_array_append_val (self->entries, entry);
  if (self->entries->len >= LU_ORDER_MAX_RECORDS || self->held >= LU_ORDER_MAX_HELD)
    flush_half (self);
}

void
lu_record_order_finish_round (LuRecordOrder *self)
{
  flush (self, self->flush_time);
  self->flush_time = self->round_time;
}

void
lu_record_order_finish (LuRecordOrder *self)
{
  flush (self, G_MAXUINT64);
}

const LuOrderEntry *
lu_record_order_peek (const LuRecordOrder *self)
{
  return self->next < self->ready ? &g_array_index (self->entries, LuOrderEntry, self->next) : NULL;
}

void
lu_record_order_pop (LuRecordOrder *self)
{
  LuOrderEntry *entry = &g_array_index (self->entries, LuOrderEntry, self->next);

  g_assert (self->next < self->ready);
  if (entry->held != NULL)
    {
      g_clear_pointer (&entry->held, g_free);
      self->held -= LU_ORDER_SIZE (entry);
    }
  if (entry->time > self->given_time)
    self->given_time = entry->time;
  self->next++;
}
