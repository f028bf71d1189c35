/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tables.h - whole tables of the files that are sampled: taken from the store, or compiled in the
 * background, and forgotten when there are too many.
 *
 * A slot stands for one file (one image, shared by all modules of equal files). Walks look a rule
 * up in the slot's table if there is one, and otherwise compile single rules; when that was needed
 * often enough, a thread of low priority compiles the whole file, stores the table and publishes
 * it. So the first sight of a large library delays neither walks nor the opening of other files.
 *
 * Readers never wait: they announce themselves in the slot, take the table and leave; who takes a
 * table away makes it unreachable first and then waits until nobody is inside. */

#pragma once

#include "elf/image.h"
#include "table/store.h"

typedef struct _LuTables LuTables;
typedef struct _LuTableSlot LuTableSlot;

typedef struct
{
  guint64 n_loaded;  /* from the store */
  guint64 n_built;   /* whole files compiled */
  guint64 n_evicted; /* forgotten because of the budget */
  guint64 n_saved;
  guint64 n_refused; /* stored tables that were not used (LuStoreResult but MISSING) */
  guint64 n_misses;  /* rules that were compiled alone */
  guint n_slots;
  gsize bytes, bytes_max; /* of tables in memory, now and at most */
} LuTablesStats;

/* A good default for `budget`. */
#define LU_TABLES_BUDGET (16u << 20)

/* store: taken; NULL for none. budget: bytes of tables in memory. */
LuTables *lu_tables_new (LuStore *store, gsize budget);
/* Ends the thread: when all that is wanted is compiled and stored, but at the latest after that
 * time, and at once if nothing can be stored. */
void lu_tables_stop (LuTables *self, guint patience_ms);
/* Ends the thread, also in the middle of a file. Slots may live on, without tables. */
void lu_tables_free (LuTables *self);
/* Any thread. */
void lu_tables_get_stats (LuTables *self, LuTablesStats *stats);
LuStore *lu_tables_store (LuTables *self); /* borrowed; may be NULL */

/* A new slot for an image, with the stored table if there is one. Reads a file; worker thread. */
LuTableSlot *lu_tables_add (LuTables *self, const LuImage *image);
LuTableSlot *lu_table_slot_ref (LuTableSlot *self);
void lu_table_slot_unref (LuTableSlot *self); /* NULL is fine */

/* The rule for an ELF address, as lu_compile_at() would have it. FALSE if there is no table or it
 * cannot say. Any thread; neither waits nor allocates. */
gboolean lu_table_slot_find (LuTableSlot *self, guint64 address, struct lu_rule *rule);
/* A single rule of that image had to be compiled. Any thread; neither waits nor allocates. */
void lu_table_slot_miss (LuTableSlot *self, LuImage *image);

/* All of the file is wanted now, however few rules were. Any thread; neither waits nor allocates.
 */
void lu_table_slot_want (LuTableSlot *self, LuImage *image);
/* The whole table, if there is one: it stays until lu_table_slot_end_read(), and a thread that
 * would take it away waits so long. Not for longer than copying it takes. Any thread. */
const LuTable *lu_table_slot_begin_read (LuTableSlot *self);
void lu_table_slot_end_read (LuTableSlot *self);
/* There is a table, and what it does not know is not known: hardly anybody needs the CFI. Any
 * thread.
 */
gboolean lu_table_slot_is_enough (LuTableSlot *self);
/* Called by whatever thread, under a lock, when a slot has got a table; it must not call back. NULL
 * for nobody; after that no call is under way. */
void lu_tables_set_listener (LuTables *self, void (*listener) (gpointer user_data),
                             gpointer user_data);

/* For tests: misses after which a file is compiled. */
guint lu_table_slot_threshold (LuTableSlot *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTables, lu_tables_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTableSlot, lu_table_slot_unref)
