/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* index.h - a hash from numbers to items of a fixed pool, which allocates nothing after it is made.
 *
 * The drain thread keeps processes, modules and mappings by it, where it must not allocate. Items
 * are numbered from 0; what they hold is in arrays of whoever uses this. */

#pragma once

#include <glib.h>

#define LU_BPF_NO_ITEM G_MAXUINT32

typedef struct
{
  guint n_items, mask; /* of the pool; of the buckets */
  guint n_used;
  guint32 n_ever;          /* from this item on none was ever used */
  guint32 free;            /* first item that was given back, + 1; 0: none */
  guint64 *keys;           /* owned, and all that follows; by item */
  guint32 *values;         /* by item; whoever uses this keeps in it what it likes */
  guint32 *buckets, *next; /* numbers of items, + 1 */
} LuBpfIndex;

void lu_bpf_index_init (LuBpfIndex *self, guint n_items);
void lu_bpf_index_clear (LuBpfIndex *self);

/* NO_ITEM if there is none. */
guint32 lu_bpf_index_find (const LuBpfIndex *self, guint64 key);
/* A new item for a key that has none; NO_ITEM if all are used. */
guint32 lu_bpf_index_add (LuBpfIndex *self, guint64 key);
void lu_bpf_index_remove (LuBpfIndex *self, guint32 item);
