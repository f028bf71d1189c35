/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* id-table.c - open addressing with linear probing, at most three quarters full; see id-table.h. */

#include "base/id-table.h"

#include <string.h>

#define FIRST_BITS 10

struct _LuIdTable
{
  guint n_words, bits;
  guint32 size, room; /* number of keys, and how many fit into `keys` */
  guint64 *keys;
  guint32 *slots; /* 1 << bits: number of the key plus 1; 0: empty */
};

static guint64
hash (guint64 a, guint64 b)
{
  guint64 h = (a ^ (b >> 31 | b << 33)) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  h ^= h >> 29;
  h += b;
  return h * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
}

static guint64 *
key_at (const LuIdTable *self, guint32 id)
{
  return self->keys + (gsize) id * self->n_words;
}

static gboolean
is_key (const LuIdTable *self, guint32 id, guint64 a, guint64 b)
{
  const guint64 *key = key_at (self, id);

  return key[0] == a && (self->n_words == 1 || key[1] == b);
}

LuIdTable *
lu_id_table_new (guint n_words)
{
  return lu_id_table_new_sized (n_words, 0);
}

LuIdTable *
lu_id_table_new_sized (guint n_words, guint32 n_keys)
{
  LuIdTable *self = g_new0 (LuIdTable, 1);

  self->n_words = n_words;
  self->room = n_keys;
  for (self->bits = FIRST_BITS; ((guint64) 3 << self->bits) / 4 < n_keys;)
    self->bits++;
  self->keys = g_new (guint64, (gsize) n_keys * n_words);
  self->slots = g_new0 (guint32, (gsize) 1 << self->bits);
  return self;
}

void
lu_id_table_free (LuIdTable *self)
{
  if (self == NULL)
    return;
  g_free (self->keys);
  g_free (self->slots);
  g_free (self);
}

guint32
lu_id_table_size (const LuIdTable *self)
{
  return self->size;
}

/* Returns the slot that holds the key, or the empty one where it belongs. */
static gsize
find_slot (const LuIdTable *self, guint64 a, guint64 b)
{
  gsize mask = ((gsize) 1 << self->bits) - 1;
  gsize slot = (gsize) (hash (a, b) >> (64 - self->bits));

  while (self->slots[slot] != 0 && !is_key (self, self->slots[slot] - 1, a, b))
    slot = (slot + 1) & mask;
  return slot;
}

static void
grow (LuIdTable *self)
{
  g_free (self->slots);
  self->bits++;
  self->slots = g_new0 (guint32, (gsize) 1 << self->bits);
  for (guint32 id = 0; id < self->size; id++)
    {
      const guint64 *key = key_at (self, id);

      self->slots[find_slot (self, key[0], self->n_words > 1 ? key[1] : 0)] = id + 1;
    }
}

guint32
lu_id_table_find (const LuIdTable *self, guint64 a, guint64 b)
{
  guint32 id = self->slots[find_slot (self, a, self->n_words > 1 ? b : 0)];

  return id > 0 ? id - 1 : G_MAXUINT32;
}

guint32
lu_id_table_add (LuIdTable *self, guint64 a, guint64 b)
{
  gsize slot;
  guint64 *key;

  if (self->n_words == 1)
    b = 0;
  slot = find_slot (self, a, b);
  if (self->slots[slot] != 0)
    return self->slots[slot] - 1;
  if (self->size >= ((guint64) 3 << self->bits) / 4)
    {
      grow (self);
      slot = find_slot (self, a, b);
    }
  if (self->size == self->room)
    {
      self->room = self->room > 0 ? self->room + self->room / 2 : 512;
      self->keys = g_renew (guint64, self->keys, (gsize) self->room * self->n_words);
    }
  key = key_at (self, self->size);
  key[0] = a;
  if (self->n_words > 1)
    key[1] = b;
  self->slots[slot] = ++self->size;
  return self->size - 1;
}

const guint64 *
lu_id_table_key (const LuIdTable *self, guint32 id)
{
  return key_at (self, id);
}
