/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-tables.h - `live-unwinder tables --build FILE…` and `--prune MIB`: the store by hand.
 *
 * Recordings fill the store on their own. These commands fill it where a recording may not write,
 * and empty it. */

#pragma once

#include <glib.h>

/* Compiles each file and stores its table, replacing a stored one; prints one line per file.
 * Returns FALSE with the first error, after handling the other files. */
gboolean lu_store_tables_build (char **paths, GError **error);
/* Removes the tables that were not used for longest until `max_bytes` are left. */
gboolean lu_store_tables_prune (guint64 max_bytes, GError **error);
