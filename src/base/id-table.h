/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* id-table.h - numbers keys in the order in which they are first seen: 0, 1, 2…
 *
 * Keys are one or two 64-bit words, in one array; what belongs to a key is kept by the caller in
 * arrays of the same order. 12 bytes for each of a single word, 20 of two, and up to twice that
 * while it grows. Belongs to one thread. */

#pragma once

#include <glib.h>

typedef struct _LuIdTable LuIdTable;

/* n_words: 1 or 2. */
LuIdTable *lu_id_table_new (guint n_words);
/* The same with room for so many keys, for who must not allocate later. */
LuIdTable *lu_id_table_new_sized (guint n_words, guint32 n_keys);
void lu_id_table_free (LuIdTable *self);

guint32 lu_id_table_size (const LuIdTable *self);
/* The number of the key, which is the size before the call if it is new. `b` is ignored where keys
 * are one word. */
guint32 lu_id_table_add (LuIdTable *self, guint64 a, guint64 b);
/* The same without adding it; G_MAXUINT32 if it is not there. */
guint32 lu_id_table_find (const LuIdTable *self, guint64 a, guint64 b);
/* The words of a key; borrowed until the next add(). */
const guint64 *lu_id_table_key (const LuIdTable *self, guint32 id);
void lu_id_table_clear (LuIdTable *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuIdTable, lu_id_table_free)
