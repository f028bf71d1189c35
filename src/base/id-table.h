/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* id-table.h - numbers keys in the order in which they are first seen: 0, 1, 2…
 *
 * Keys are one or two 64-bit words. The caller keeps the values in arrays of the same order. A key
 * of one word takes 12 bytes, a key of two 20, and up to twice as much while the table grows.
 * Belongs to one thread. */

#pragma once

#include <glib.h>

typedef struct _LuIdTable LuIdTable;

/* n_words: 1 or 2. */
LuIdTable *lu_id_table_new (guint n_words);
/* Makes a table that allocates nothing later, up to n_keys keys. */
LuIdTable *lu_id_table_new_sized (guint n_words, guint32 n_keys);
void lu_id_table_free (LuIdTable *self);

guint32 lu_id_table_size (const LuIdTable *self);
/* Returns the number of the key, adding it if it is new; a new key gets the size before the call.
 * `b` is ignored if keys are one word. */
guint32 lu_id_table_add (LuIdTable *self, guint64 a, guint64 b);
/* Returns the number of the key, or G_MAXUINT32 if it is not in the table. */
guint32 lu_id_table_find (const LuIdTable *self, guint64 a, guint64 b);
/* Returns the words of a key, borrowed until the next add(). */
const guint64 *lu_id_table_key (const LuIdTable *self, guint32 id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuIdTable, lu_id_table_free)
