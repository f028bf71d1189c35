/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* index.h - a hash from numbers to items of a fixed pool, which allocates nothing after it is made.
 *
 * The drain thread, which must not allocate, finds processes, modules and mappings by it. Items are
 * numbered from 0; the caller keeps their contents in its own arrays. */

#pragma once

#include <glib.h>

#define LU_BPF_NO_ITEM G_MAXUINT32

typedef struct
{
  guint n_items, mask; /* size of the pool; mask of the buckets */
  guint n_used;
  guint32 n_ever;          /* items from this one on were never used */
  guint32 free;            /* first item of the free list, + 1; 0: none */
  guint64 *keys;           /* by item; owned, like the arrays below */
  guint32 *values;         /* by item; for the caller */
  guint32 *buckets, *next; /* numbers of items, + 1 */
} LuBpfIndex;

void lu_bpf_index_init (LuBpfIndex *self, guint n_items);
void lu_bpf_index_clear (LuBpfIndex *self);

/* Returns the item that was added last for the key, or LU_BPF_NO_ITEM. */
guint32 lu_bpf_index_find (const LuBpfIndex *self, guint64 key);
/* Adds an item for the key. Returns LU_BPF_NO_ITEM if all items are in use. */
guint32 lu_bpf_index_add (LuBpfIndex *self, guint64 key);
void lu_bpf_index_remove (LuBpfIndex *self, guint32 item);
