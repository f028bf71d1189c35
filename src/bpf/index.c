/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* index.c - finds items by number; see index.h. The hash is chained, with as many buckets as items.
 * Links are numbers of items + 1, so that untouched memory means "none": most items are never
 * used. */

#include "bpf/index.h"

void
lu_bpf_index_init (LuBpfIndex *self, guint n_items)
{
  guint n_buckets = 1u << g_bit_storage (n_items - 1);

  *self = (LuBpfIndex){ .n_items = n_items, .mask = n_buckets - 1 };
  /* One piece is large enough to come from the system, which zeroes it when it is touched. */
  self->keys = g_malloc0 (n_items * (sizeof *self->keys + sizeof *self->values + sizeof *self->next)
                          + n_buckets * sizeof *self->buckets);
  self->values = (guint32 *) (self->keys + n_items);
  self->next = self->values + n_items;
  self->buckets = self->next + n_items;
}

void
lu_bpf_index_clear (LuBpfIndex *self)
{
  g_free (self->keys);
  *self = (LuBpfIndex){ 0 };
}

static guint32 *
bucket_of (const LuBpfIndex *self, guint64 key)
{
  return &self->buckets[(key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> 32 & self->mask];
}

guint32
lu_bpf_index_find (const LuBpfIndex *self, guint64 key)
{
  guint32 link = *bucket_of (self, key);

  while (link != 0 && self->keys[link - 1] != key)
    link = self->next[link - 1];
  return link != 0 ? link - 1 : LU_BPF_NO_ITEM;
}

static guint32
take_item (LuBpfIndex *self)
{
  guint32 link = self->free;

  if (link == 0)
    return self->n_ever < self->n_items ? self->n_ever++ : LU_BPF_NO_ITEM;
  self->free = self->next[link - 1];
  return link - 1;
}

guint32
lu_bpf_index_add (LuBpfIndex *self, guint64 key)
{
  guint32 item = take_item (self), *bucket = bucket_of (self, key);

  if (item == LU_BPF_NO_ITEM)
    return item;
  self->keys[item] = key;
  self->next[item] = *bucket;
  *bucket = item + 1;
  self->n_used++;
  return item;
}

void
lu_bpf_index_remove (LuBpfIndex *self, guint32 item)
{
  guint32 *link = bucket_of (self, self->keys[item]);

  while (*link != item + 1)
    link = &self->next[*link - 1];
  *link = self->next[item];
  self->next[item] = self->free;
  self->free = item + 1;
  self->n_used--;
}
