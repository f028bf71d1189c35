/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store.h - whole tables on disk, so that a file is compiled once and not at every start.
 *
 * Used by module/tables.c and `live-unwinder tables`. A folder with one file per table, whose bytes
 * docs/unwind-table.md describes. The name is made of build-id and digest, but only what is inside
 * counts: a table is taken for a file whose digest (lu_image_digest(), of headers and CFI) it
 * holds, if it was made by a program of the same sources and every byte is as it was written.
 *
 * A store is never shared across users. Folder and file have to belong to our effective user alone:
 * real, not reached through a link, nobody else may write to them. That is asked of opened
 * descriptors, never of names. What does not pass is not used, as if it were not there.
 *
 * Tables are read into private memory: in a mapping, a file that another process of ours shortens
 * would end this one with SIGBUS, and the digest has to see every byte anyway. Files are complete
 * before they get their name (no fsync: after a crash the digest tells), so writers may race. */

#pragma once

#include "elf/image.h"
#include "table/store-format.h"

typedef struct _LuStore LuStore;

typedef enum
{
  LU_STORE_READ_ONLY, /* nothing is made, changed or removed: inside a sandbox, or on request */
  LU_STORE_READ_WRITE,
} LuStoreMode;

/* Tables and bytes that are kept at most; what was not used for longest goes first. */
#define LU_STORE_MAX_BYTES (G_GUINT64_CONSTANT (512) << 20)
#define LU_STORE_MAX_FILES 4096 /* with aliases (store-alias.h) */

/* Where the store of the effective user is: $LIVE_UNWINDER_STORE, else for root
 * /var/cache/live-unwinder, else $XDG_CACHE_HOME/live-unwinder or ~/.cache/live-unwinder. NULL if
 * the variable is empty (no store is wanted) or there is no home. Owned. */
char *lu_store_default_path (void);

/* Opens the folder, and for READ_WRITE makes it (mode 0700) if there is none. LU_ERROR_PERMISSION:
 * what is there must not be used; LU_ERROR_FAILED: there is nothing, and it cannot be made. */
LuStore *lu_store_open (const char *path, LuStoreMode mode, GError **error);
/* The same with an opened folder; takes the descriptor. No other name is looked up later on, so it
 * works after names have become unreachable. */
LuStore *lu_store_open_at (int folder_fd, LuStoreMode mode, GError **error);
void lu_store_free (LuStore *self);
/* Any thread. From now on nothing is written. */
void lu_store_set_read_only (LuStore *self);
gboolean lu_store_is_read_only (const LuStore *self);

/* For a process that wants to keep tables and soon may make no files. From now on what is saved
 * goes to the end of a file of the folder, and the next process that calls this moves it to where
 * it belongs. At most LU_STORE_INBOX_BYTES. One process has it, until it ends; FALSE for others,
 * and if it cannot be had. Before any other thread uses the store. */
#define LU_STORE_INBOX_BYTES (16u << 20)
gboolean lu_store_open_inbox (LuStore *self);
/* What the last one left: to be moved before anything is saved, and while files may be made. Takes
 * some ms at most. */
gboolean lu_store_is_inbox_empty (const LuStore *self);
void lu_store_empty_inbox (LuStore *self);

/* The table of the file that the image is of, or NULL with the reason. Tables larger than
 * `max_bytes` are left alone (SIZE). Any thread. */
LuTable *lu_store_load (LuStore *self, const LuImage *image, gsize max_bytes,
                        LuStoreResult *result);
/* Whether there is a file that should be that table. Any thread. */
gboolean lu_store_has (const LuStore *self, const LuImage *image);
/* Keeps a table, in the place of an older one. FALSE with errno set (EROFS when read-only, EFBIG
 * when the inbox is full). Any thread. */
gboolean lu_store_save (LuStore *self, const LuImage *image, const LuTable *table);

typedef struct
{
  guint n_files, n_removed;
  guint64 bytes, removed_bytes;
} LuStorePruned;

/* Removes what was not used for longest until there are at most that many bytes and
 * LU_STORE_MAX_FILES files, and what writers that died left behind. FALSE with errno set (EROFS
 * also with an inbox). */
gboolean lu_store_prune (LuStore *self, guint64 max_bytes, LuStorePruned *pruned);

/* In English, for messages. */
const char *lu_store_result_title (LuStoreResult result);

/* Who makes tables: what LuStoreHeader.maker says of ours (table/maker.py). LU_DIGEST_SIZE bytes.
 */
const guint8 *lu_store_maker (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuStore, lu_store_free)
