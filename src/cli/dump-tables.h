/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dump-tables.h - `live-unwinder tables FILE [--stats]`: prints the unwind table of a file. */

#pragma once

#include "table/cfi.h"

/* Prints the rows, or, with `stats`, counts of rows, rules and bytes, to standard output. */
gboolean lu_dump_tables (const char *path, gboolean stats, GError **error);

/* Opens the image of a file and its CFI; NULL with an error that names the path. */
LuImage *lu_dump_tables_open (const char *path, GError **error);
LuCfi *lu_dump_tables_cfi (LuImage *image, const char *path, GError **error);
