/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-private.h - files in the folder of a store: for store.c, which keeps tables in them,
 * store-alias.c and store-inbox.c. Whoever reads one knows that it is ours alone, and nothing else
 * of it. */

#pragma once

#include "table/store.h"

#include <pthread.h>
#include <sys/stat.h>

/* Of a table: 20 bytes of build-id, a hyphen, 16 of the digest, ".table". */
#define LU_STORE_MAX_NAME (2 * 20 + 1 + 2 * 16 + sizeof ".table")

struct _LuStore
{
  int folder;        /* owned */
  gint is_read_only; /* atomic */

  /* store-inbox.c */
  int inbox;           /* owned; -1: files are made */
  guint64 inbox_bytes; /* under the mutex */
  pthread_mutex_t inbox_mutex;
};

/* Of a file whose bytes g_malloc()ed memory takes: LOADED, or why not. */
LuStoreResult lu_store_read_file (const LuStore *self, const char *name, gsize max_bytes,
                                  guint8 **bytes, gsize *size);
/* It gets its name when it is complete. FALSE with errno set. */
gboolean lu_store_write_file (LuStore *self, const char *name, const guint8 *bytes, gsize size);
/* The parts of that: a file for writing under a name that nobody looks for, which it fills in; -1
 * with errno set. Then its name, or NULL: it goes away. */
int lu_store_open_new (const LuStore *self, char new_name[LU_STORE_MAX_NAME]);
gboolean lu_store_close_new (const LuStore *self, int fd_taken, const char *new_name,
                             const char *name);
/* The same into the inbox, of which there is one. */
gboolean lu_store_write_inbox (LuStore *self, const char *name, const guint8 *bytes, gsize size);

/* Whether a name in the folder can be one of ours. */
gboolean lu_store_is_our_name (const char *name);
/* Whether it is a regular file that belongs to us, has one name at most, and nobody else may write
 * to. */
gboolean lu_store_is_ours_alone (int fd, struct stat *info);
/* lu_store_prune(), also with an inbox. */
gboolean lu_store_remove_oldest (const LuStore *self, guint64 max_bytes, LuStorePruned *pruned);
/* Appends to a name that has room for it. */
void lu_store_append_hex (char *name, const guint8 *bytes, gsize size);

#define LU_STORE_ALIAS_SUFFIX ".alias"
