/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store.h - whole tables on disk, so that a file is compiled once and not at every start; and a
 * copy of the kernel's functions.
 *
 * Used by module/tables.c and `live-unwinder tables`. The store is a directory with one file per
 * table, whose bytes docs/unwind-table.md describes. The name consists of build-id and digest, but
 * only the contents count: a table is used for a file if it contains the file's digest
 * (lu_image_digest(), of headers and CFI), was made by a program built from the same sources, and
 * its checksum is right.
 *
 * A store is never shared across users. Directory and file must belong to our effective user, must
 * not be symbolic links, and must not be writable by anybody else. This is checked on open
 * descriptors, never on names. A file that does not pass is ignored.
 *
 * Tables are read into private memory: if they were mapped, another process of ours could shorten
 * the file and this one would get SIGBUS, and the checksum has to read every byte anyway. A file
 * gets its name when it is complete, so several writers are fine. There is no fsync(), because the
 * checksum detects files damaged by a crash. */

#pragma once

#include "sandbox/keeper.h"
#include "table/store-format.h"

typedef struct _LuStore LuStore;

typedef enum
{
  LU_STORE_READ_ONLY, /* nothing is created, changed or removed: inside a sandbox, or on request */
  LU_STORE_READ_WRITE,
} LuStoreMode;

/* Default limits for bytes and number of tables; the longest unused are removed first. */
#define LU_STORE_MAX_BYTES (G_GUINT64_CONSTANT (512) << 20)
#define LU_STORE_MAX_FILES 4096

/* Returns the directory of the effective user's store: $LIVE_UNWINDER_STORE, otherwise for root
 * /var/cache/live-unwinder, otherwise $XDG_CACHE_HOME/live-unwinder or ~/.cache/live-unwinder. NULL
 * if the variable is empty (no store) or there is no home directory. Owned. */
char *lu_store_default_path (void);

/* Opens the directory; READ_WRITE creates it (mode 0700) if necessary. LU_ERROR_PERMISSION: the
 * directory must not be used; LU_ERROR_FAILED: it does not exist and cannot be created. */
LuStore *lu_store_open (const char *path, LuStoreMode mode, GError **error);
void lu_store_free (LuStore *self);
/* From now on the keeper (borrowed), which has not been started yet, makes the files. Call it
 * before any other thread uses the store. */
void lu_store_set_keeper (LuStore *self, LuKeeper *keeper);
/* Stops all writing. Any thread. */
void lu_store_set_read_only (LuStore *self);
gboolean lu_store_is_read_only (const LuStore *self);

/* For a process that keeps tables and will soon give up the right to create files. Moves the
 * pending writes of the previous such process to files, which takes some ms; from now on saved
 * tables are appended to the file of pending writes, at most LU_STORE_PENDING_BYTES. FALSE: the
 * file is not ours alone, or another process holds it. Call it before any other thread uses the
 * store. */
#define LU_STORE_PENDING_BYTES (16u << 20)
gboolean lu_store_open_pending (LuStore *self);

/* Returns the table for the image's file, or NULL with the reason. Tables larger than `max_bytes`
 * are not loaded (SIZE). Any thread. */
LuTable *lu_store_load (LuStore *self, const LuImage *image, gsize max_bytes,
                        LuStoreResult *result);
/* Like it, for a table whose identity is another one (LU_DIGEST_SIZE bytes): it depends on more of
 * the file. */
LuTable *lu_store_load_as (LuStore *self, const LuImage *image, const guint8 *identity,
                           gsize max_bytes, LuStoreResult *result);
/* Stores a table, replacing an older one. Returns FALSE with errno set (EROFS when read-only, EFBIG
 * when there is no room for pending writes). Any thread. */
gboolean lu_store_save (LuStore *self, const LuImage *image, const LuTable *table);
gboolean lu_store_save_as (LuStore *self, const LuImage *image, const guint8 *identity,
                           const LuTable *table);

/* The copy of the kernel's functions (symbolize/kallsyms-copy.h), which is no table: it is not
 * counted and not removed, but each boot's takes the place of the one before. */

/* Opens it for reading; -1 if there is none that is ours alone. */
int lu_store_open_kernel (const LuStore *self);
/* Stores a new one. Returns FALSE with errno set (EROFS also once writes are pending). Any thread.
 */
gboolean lu_store_save_kernel (LuStore *self, const char *bytes, gsize size);

typedef struct
{
  guint n_files, n_removed;
  guint64 bytes, removed_bytes;
} LuStorePruned;

/* Removes the longest unused tables until there are at most that many bytes and LU_STORE_MAX_FILES
 * files, and files of writers that died. Returns FALSE with errno set (EROFS also once writes are
 * pending). */
gboolean lu_store_prune (LuStore *self, guint64 max_bytes, LuStorePruned *pruned);

/* Returns text in English, for messages. */
const char *lu_store_result_title (LuStoreResult result);

/* Returns the digest of the sources that determine tables, for LuStoreHeader.maker
 * (table/maker.py). LU_DIGEST_SIZE bytes. */
const guint8 *lu_store_maker (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuStore, lu_store_free)
