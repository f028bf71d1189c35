/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* commands.h - the commands of this room.
 *
 * `live-unwinder stacks` prints the stack of every thread of processes once, and stops nothing.
 * `live-unwinder doctor` tries every step that a recording needs and says what to do about those
 * that fail. `live-unwinder tables FILE [--stats]` prints the unwind table of a file; with --build
 * and --prune it fills the store, which recordings fill on their own, where a recording may not
 * write, and empties it. */

#pragma once

#include "table/cfi.h"

/* Doctor. Prints one line per step. FALSE: a user's own command cannot be recorded. */
gboolean lu_doctor_run (void);

/* Stacks, with its arguments from the command's name on. */
gboolean lu_stacks_main (int argc, char **argv, GError **error);

/* Prints the rows, or, with `stats`, counts of rows, rules and bytes, to standard output. */
gboolean lu_dump_tables (const char *path, gboolean stats, GError **error);
/* Opens the image of a file and its CFI; NULL with an error that names the path. */
LuImage *lu_dump_tables_open (const char *path, GError **error);
LuCfi *lu_dump_tables_cfi (LuImage *image, const char *path, GError **error);

/* Compiles each file and stores its table, replacing a stored one; prints one line per file.
 * Returns FALSE with the first error, after handling the other files. */
gboolean lu_store_tables_build (char **paths, GError **error);
/* Removes the tables that were not used for longest until `max_bytes` are left. */
gboolean lu_store_tables_prune (guint64 max_bytes, GError **error);
