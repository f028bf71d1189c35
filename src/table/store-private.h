/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-private.h - files in the directory of a store: for store.c, which keeps tables in them,
 * and store-pending.c. Reading checks that a file is ours alone, and nothing else about it. */

#pragma once

#include "table/store.h"

#include <pthread.h>
#include <sys/stat.h>

/* Length of a table's name: 20 bytes of build-id, a hyphen, 16 of the digest, ".table". */
#define LU_STORE_MAX_NAME (2 * 20 + 1 + 2 * 16 + sizeof ".table")

struct _LuStore
{
  int directory;    /* owned */
  LuKeeper *keeper; /* makes files in it: our own, or borrowed */
  guint number;     /* of the directory in the keeper */
  gboolean owns_keeper;
  gint is_read_only; /* atomic */

  int pending;           /* owned; -1: files are created */
  guint64 pending_bytes; /* under the mutex */
  pthread_mutex_t pending_mutex;
};

/* The head of a pending write; the bytes of the file follow. */
#define LU_STORE_RECORD_MAGIC "LU-WRITE"
typedef struct
{
  char magic[8];
  guint64 size; /* bytes that follow */
  char name[LU_STORE_MAX_NAME];
} LuStoreRecord;

_Static_assert(sizeof (LuStoreRecord) == 96, "the header has no holes");

/* Reads a file into g_malloc()ed memory. Returns LOADED, or why not. */
LuStoreResult lu_store_read_file (const LuStore *self, const char *name, gsize max_bytes,
                                  guint8 **bytes, gsize *size);
/* Writes a file, which gets its name when it is complete; appends a pending write once
 * lu_store_open_pending() has succeeded. FALSE with errno set. */
gboolean lu_store_write_file (LuStore *self, const char *name, const guint8 *bytes, gsize size);

/* Returns whether a name in the directory can be the name of a table. */
gboolean lu_store_is_our_name (const char *name);
/* Returns whether it is a regular file that belongs to us, has at most one name, and is not
 * writable by anybody else. */
gboolean lu_store_is_ours_alone (int fd, struct stat *info);
