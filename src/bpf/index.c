/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* index.c - numbers to items; see index.h. Chained, with as many buckets as items. */

#include "bpf/index.h"

void
lu_bpf_index_init (LuBpfIndex *self, guint n_items)
{
  guint n_buckets = 1;

  while (n_buckets < n_items)
    n_buckets *= 2;
  *self = (LuBpfIndex){ .n_items = n_items, .mask = n_buckets - 1 };
  self->buckets = g_new (guint32, n_buckets);
  self->next = g_new (guint32, n_items);
  self->keys = g_new0 (guint64, n_items);
  for (guint i = 0; i < n_buckets; i++)
    self->buckets[i] = LU_BPF_NO_ITEM;
  for (guint i = 0; i < n_items; i++)
    self->next[i] = i + 1 < n_items ? i + 1 : LU_BPF_NO_ITEM;
}

void
lu_bpf_index_clear (LuBpfIndex *self)
{
  g_free (self->buckets);
  g_free (self->next);
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
  guint32 item = *bucket_of (self, key);

  while (item != LU_BPF_NO_ITEM && self->keys[item] != key)
    item = self->next[item];
  return item;
}

guint32
lu_bpf_index_add (LuBpfIndex *self, guint64 key)
{
  guint32 item = self->free, *bucket = bucket_of (self, key);

  if (item == LU_BPF_NO_ITEM)
    return item;
  self->free = self->next[item];
  self->keys[item] = key;
  self->next[item] = *bucket;
  *bucket = item;
  self->n_used++;
  return item;
}

void
lu_bpf_index_remove (LuBpfIndex *self, guint32 item)
{
  guint32 *at = bucket_of (self, self->keys[item]);

  while (*at != item)
    at = &self->next[*at];
  *at = self->next[item];
  self->next[item] = self->free;
  self->free = item;
  self->n_used--;
}
