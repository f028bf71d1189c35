/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tables.h - whole tables of sampled files: loaded from the store or compiled in the background,
 * and evicted when there are too many.
 *
 * A slot stands for one file (one image, shared by all modules of equal files). Walks look a rule
 * up in the slot's table if there is one, and otherwise compile single rules. When that has
 * happened often enough, a thread of low priority compiles the whole file, stores the table and
 * publishes it. So a large new library delays neither walks nor the opening of other files.
 *
 * Readers never wait. A look-up announces itself in the slot, and a thread that evicts a table
 * first makes it unreachable and then waits for the look-ups under way. Longer work on a whole
 * table takes a reference instead. */

#pragma once

#include "base/counters.h"
#include "table/store.h"

typedef struct _LuTables LuTables;
typedef struct _LuTableSlot LuTableSlot;

/* A good default for `budget`. */
#define LU_TABLES_BUDGET (16u << 20)

/* store: taken, NULL: none. budget: bytes of tables in memory. */
LuTables *lu_tables_new (LuStore *store, gsize budget);
/* Ends the thread when all wanted files are compiled and stored, but no later than `patience_ms`;
 * at once if nothing can be stored. Rows from code that are under way, and can be stored, get
 * `rows_patience_ms` after that. */
void lu_tables_stop (LuTables *self, guint patience_ms, guint rows_patience_ms);
/* Ends the thread, even in the middle of a file. Slots may live on, without tables. */
void lu_tables_free (LuTables *self);
/* Returns the counters, borrowed. Any thread. */
const LuCounters *lu_tables_counters (const LuTables *self);
LuStore *lu_tables_store (LuTables *self); /* borrowed; may be NULL */

/* Creates a slot for an image, with the stored table if there is one. Reads a file; worker thread.
 */
LuTableSlot *lu_tables_add (LuTables *self, const LuImage *image);
LuTableSlot *lu_table_slot_ref (LuTableSlot *self);
void lu_table_slot_unref (LuTableSlot *self); /* NULL is allowed */

/* Finds the rule for an ELF address, equal to that of lu_compile_at(). Returns FALSE if there is no
 * table or it cannot say. Any thread; neither waits nor allocates. */
gboolean lu_table_slot_find (LuTableSlot *self, guint64 address, struct lu_rule *rule);
/* Counts a single rule that had to be compiled. Any thread; neither waits nor allocates. */
void lu_table_slot_miss (LuTableSlot *self, LuImage *image);

/* Compiles the whole table of an image with rows from elsewhere than CFI, stores it if it may be
 * stored, and publishes it in place of any other. Worker thread; FALSE: there is no room, or no CFI
 * that there should be. */
gboolean lu_table_slot_extend (LuTableSlot *self, LuImage *image, const LuExtraRows *rows,
                               gboolean may_be_stored);
/* Returns whether rows for code without CFI were never asked for, and the file may have some. Any
 * thread; neither waits nor allocates. */
gboolean lu_table_slot_may_fill_gaps (LuTableSlot *self);
/* Instead of an ELF address: all code of the file. */
#define LU_ALL_ROWS G_MAXUINT64
/* Has a thread make rows for the code of the image that no CFI covers (gap-filler.h), from the file
 * open as `fd_taken`. Only the first call for a slot counts; -1: there are none. Worker thread. */
void lu_table_slot_fill_gaps (LuTableSlot *self, LuImage *image, int fd_taken);
/* Returns whether that thread has yet to do so. Any thread; neither waits nor allocates. */
gboolean lu_table_slot_is_filling (LuTableSlot *self);
/* Returns whether rows for such code may still come: they were never asked for, or that thread has
 * yet to make them. Any thread; neither waits nor allocates. */
gboolean lu_table_slot_may_get_rows (LuTableSlot *self);
/* Asks for the rows around an address before others, and waits until they are there or there are
 * none, but no longer than `max_ms`; returns whether that is so. Worker thread. */
gboolean lu_table_slot_wait_filled (LuTableSlot *self, guint64 address, guint max_ms);
/* For that thread: publishes the stored table with such rows in place of any other; FALSE: there is
 * none. identity: lu_image_digest_loaded(), because the table depends on more than the CFI. */
gboolean lu_table_slot_load_filled (LuTableSlot *self, const LuImage *image,
                                    const guint8 identity[LU_DIGEST_SIZE]);
/* For that thread: publishes a table with these rows in place of any other, and stores it.
 * identity: as above; NULL: it is not to be stored. is_last: these are all. */
void lu_table_slot_take_filled (LuTableSlot *self, LuImage *image, const LuExtraRows *rows,
                                const guint8 *identity, gboolean is_last);
/* For that thread: nobody has to wait any longer. */
void lu_table_slot_end_filling (LuTableSlot *self);
/* Returns how often tables have got such rows. Rules that were found before may be out of date when
 * it changes. Any thread. */
guint lu_tables_filled (void);
/* Look into the functions of its table, as lu_table_find_start() and lu_table_leads_to(); FALSE
 * without a table. Any thread; neither waits nor allocates. */
gboolean lu_table_slot_find_start (LuTableSlot *self, guint64 address, guint64 *start);
gboolean lu_table_slot_leads_to (LuTableSlot *self, guint64 target, guint64 start);
/* Sets the functions that code leads to, as lu_table_find_leads(); 0 without a table. */
guint lu_table_slot_find_leads (LuTableSlot *self, guint64 target, guint64 leads[LU_TABLE_LEADS]);
/* Returns whether the slot has a table for which such rows were looked for. Any thread. */
gboolean lu_table_slot_is_extended (LuTableSlot *self);

/* Requests the whole table, however few single rules were compiled. Any thread; neither waits nor
 * allocates. */
void lu_table_slot_want (LuTableSlot *self, LuImage *image);
/* Returns a reference to the whole table, or NULL if there is none. The table stays valid after an
 * eviction. Any thread; neither waits nor allocates. */
LuTable *lu_table_slot_get_table (LuTableSlot *self);
/* Returns whether there is a table that knows all there is to know, so that the CFI is hardly ever
 * needed. Any thread. */
gboolean lu_table_slot_is_enough (LuTableSlot *self);
/* Sets a function that is called, by any thread and under a lock, when a slot gets a table; it must
 * not call back. NULL: none; no call is under way afterwards. */
void lu_tables_set_listener (LuTables *self, void (*listener) (gpointer user_data),
                             gpointer user_data);

/* For tests. */
guint lu_tables_n_slots (LuTables *self);
/* For tests: returns the misses after which a file is compiled. */
guint lu_table_slot_threshold (LuTableSlot *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTables, lu_tables_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTableSlot, lu_table_slot_unref)
