/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-private.h - files in the folder of a store: for store.c, which keeps tables in them, and
 * store-alias.c. Whoever reads one knows that it is ours alone, and nothing else of it. */

#pragma once

#include "table/store.h"

/* Of a file whose bytes g_malloc()ed memory takes: LOADED, or why not. */
LuStoreResult lu_store_read_file (const LuStore *self, const char *name, gsize max_bytes,
                                  guint8 **bytes, gsize *size);
/* It gets its name when it is complete. FALSE with errno set. */
gboolean lu_store_write_file (const LuStore *self, const char *name, const guint8 *bytes,
                              gsize size);
/* Appends to a name that has room for it. */
void lu_store_append_hex (char *name, const guint8 *bytes, gsize size);

#define LU_STORE_ALIAS_SUFFIX ".alias"
