/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-tables.h - `live-unwinder tables --build FILE…` and `--prune MIB`: the store by hand.
 *
 * Used by main.c. Recordings fill the store on their own; by hand it can be filled where they may
 * not write, and emptied. */

#pragma once

#include <glib.h>

/* Compiles each file and stores its table, also where one is stored already; one line per file on
 * standard output. FALSE with the first error; the other files are done nevertheless. */
gboolean lu_store_tables_build (char **paths, GError **error);
/* Removes the tables that were not used for longest until `max_bytes` are left. */
gboolean lu_store_tables_prune (guint64 max_bytes, GError **error);
