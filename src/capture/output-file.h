/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.h - opens the output file of a recording, often as root in another user's directory.
 */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Opens `path` for writing and returns the descriptor (close-on-exec), or -1.
 *
 * "-" is standard output, refused if that is a terminal. A new file is created exclusively, never
 * through a symbolic link, with mode 0600, and given to the user who called sudo. An existing
 * regular file is an error (LU_ERROR_EXISTS), or with `force` replaced by a new file, if it belongs
 * to the caller. An existing FIFO or character device of the caller or of root is written to as it
 * is; opening a FIFO waits for its reader. */
int lu_output_open (const char *path, gboolean force, GError **error);
/* Only creates a new file, as `name` in an open directory. path: for messages. */
int lu_output_create_at (int directory, const char *name, const char *path, GError **error);

/* Returns whether a user called sudo to run us as root, and who. */
gboolean lu_output_sudo_caller (uid_t *uid, gid_t *gid);

/* Removes a regular file that lu_output_open() just created and that contains nothing worth
 * keeping. */
void lu_output_discard (const char *path);
