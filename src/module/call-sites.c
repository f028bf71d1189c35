/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-sites.c - set-associative tables of words; see call-sites.h.
 *
 * Readers may be in a table that is not the largest any more, so it stays until the end. */

#include "module/call-sites.h"

#include <stdatomic.h>

#define N_WAYS   8 /* one cache line */
#define MIN_BITS 8
#define MAX_BITS 14
/* A table becomes this many times larger when half as many words as it has were replaced. */
#define GROWTH_BITS 2
#define MAX_TABLES  (1 + (MAX_BITS - MIN_BITS + GROWTH_BITS - 1) / GROWTH_BITS)
/* All tables that have grown, together: programs choose how many they need. */
#define MAX_GROWN_BYTES (4u << 20)

/* A word has the file offset above the two bits of the kind. 0 is empty, because no answer is
 * UNKNOWN. */
typedef struct
{
  _Atomic guint64 words[N_WAYS];
} Set;

typedef struct
{
  guint bits;
  guint n_replaced; /* used by the writer only, as the next */
  guint8 *next;     /* owned: of each set, the way to replace next */
  Set *sets;        /* owned */
} Table;

struct _LuCallSites
{
  _Atomic (Table *) table; /* the largest */
  Table tables[MAX_TABLES];
  guint n_tables;
};

static atomic_size_t grown_bytes;

static gsize
bytes_of (guint bits)
{
  return (gsize) 1 << bits << 6;
}

static guint
set_of (const Table *table, guint64 file_offset)
{
  return (guint) ((file_offset * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> (64 - table->bits));
}

static Table *
add_table (LuCallSites *self, guint bits)
{
  Table *table = &self->tables[self->n_tables++];

  *table = (Table){ .bits = bits,
                    .next = g_new0 (guint8, (gsize) 1 << bits),
                    .sets = g_new0 (Set, (gsize) 1 << bits) };
  return table;
}

LuCallSites *
lu_call_sites_new (void)
{
  LuCallSites *self = g_new0 (LuCallSites, 1);

  atomic_init (&self->table, add_table (self, MIN_BITS));
  return self;
}

void
lu_call_sites_free (LuCallSites *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->n_tables; i++)
    {
      if (i > 0)
        atomic_fetch_sub (&grown_bytes, bytes_of (self->tables[i].bits));
      g_free (self->tables[i].next);
      g_free (self->tables[i].sets);
    }
  g_free (self);
}

LuCallKind
lu_call_sites_find (const LuCallSites *self, guint64 file_offset)
{
  const Table *table = atomic_load_explicit (&self->table, memory_order_acquire);
  const Set *set = &table->sets[set_of (table, file_offset)];

  for (guint i = 0; i < N_WAYS; i++)
    {
      guint64 word = atomic_load_explicit (&set->words[i], memory_order_relaxed);

      if (word >> 2 == file_offset && (word & 3) != LU_CALL_UNKNOWN)
        return (LuCallKind) (word & 3);
    }
  return LU_CALL_UNKNOWN;
}

static void
put (Table *table, guint64 word)
{
  guint number = set_of (table, word >> 2);
  Set *set = &table->sets[number];
  guint way = table->next[number];

  for (guint i = 0; i < N_WAYS; i++)
    if (atomic_load_explicit (&set->words[i], memory_order_relaxed) >> 2 == word >> 2)
      way = i;
  if (way == table->next[number])
    table->next[number] = (guint8) ((way + 1) % N_WAYS);
  if (atomic_load_explicit (&set->words[way], memory_order_relaxed) >> 2 != word >> 2)
    table->n_replaced += atomic_load_explicit (&set->words[way], memory_order_relaxed) != 0;
  atomic_store_explicit (&set->words[way], word, memory_order_relaxed);
}

/* Returns a larger table with the same answers, or NULL. */
static Table *
grow (LuCallSites *self, const Table *table)
{
  guint bits = MIN (table->bits + GROWTH_BITS, MAX_BITS);
  Table *larger;

  if (bits == table->bits)
    return NULL;
  if (atomic_fetch_add (&grown_bytes, bytes_of (bits)) + bytes_of (bits) > MAX_GROWN_BYTES)
    {
      atomic_fetch_sub (&grown_bytes, bytes_of (bits));
      return NULL;
    }
  larger = add_table (self, bits);
  for (guint i = 0; i < 1u << table->bits; i++)
    for (guint way = 0; way < N_WAYS; way++)
      {
        guint64 word = atomic_load_explicit (&table->sets[i].words[way], memory_order_relaxed);

        if (word != 0)
          put (larger, word);
      }
  atomic_store_explicit (&self->table, larger, memory_order_release);
  return larger;
}

void
lu_call_sites_add (LuCallSites *self, guint64 file_offset, LuCallKind kind)
{
  Table *table = atomic_load_explicit (&self->table, memory_order_relaxed);

  if (file_offset >> 62 != 0 || kind == LU_CALL_UNKNOWN)
    return;
  if (table->n_replaced > (guint) N_WAYS / 2 << table->bits)
    {
      Table *larger = grow (self, table);

      table->n_replaced = 0;
      table = larger != NULL ? larger : table;
    }
  put (table, file_offset << 2 | (guint64) kind);
}

void
lu_call_sites_foreach (const LuCallSites *self, LuCallSiteFunc func, gpointer user_data)
{
  const Table *table = atomic_load_explicit (&self->table, memory_order_acquire);

  for (guint i = 0; i < 1u << table->bits; i++)
    for (guint way = 0; way < N_WAYS; way++)
      {
        guint64 word = atomic_load_explicit (&table->sets[i].words[way], memory_order_relaxed);

        if (word != 0)
          func (word >> 2, (LuCallKind) (word & 3), user_data);
      }
}
