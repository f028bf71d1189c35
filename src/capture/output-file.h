/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-file.h - opens the output file of a recording, often as root in another user's directory.
 */

#pragma once

#include "sandbox/keeper.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Opens `path` for writing and returns the descriptor (close-on-exec), or -1.
 *
 * "-" is standard output, refused if that is a terminal. A new file is created exclusively, never
 * through a symbolic link, with mode 0600, and given to the user who called sudo. An existing
 * regular file is an error (LU_ERROR_EXISTS), or with `force` replaced by a new file, if it belongs
 * to the caller. An existing FIFO or character device of the caller or of root is written to as it
 * is; opening a FIFO waits for its reader. */
int lu_output_open (const char *path, gboolean force, GError **error);

/* Removes a regular file that lu_output_open() just created and that contains nothing worth
 * keeping. */
void lu_output_discard (const char *path);

/* The directories of the outputs of a recording in many files, kept open: files are created and
 * removed, by the keeper, in the directories that were there when the recording began, whatever
 * their paths lead to later. Immutable; any thread. */
typedef struct _LuOutputDirectories LuOutputDirectories;

/* Opens the directory of each path (NULL-terminated), and adds it to the keeper (borrowed), which
 * has not been started yet. NULL on failure. */
LuOutputDirectories *lu_output_directories_open (char *const *paths, LuKeeper *keeper,
                                                 GError **error);
/* Returns whether root needs rights to create files there for another user: one of the directories
 * is not root's, or a user called sudo. */
gboolean lu_output_directories_are_others (const LuOutputDirectories *self);
void lu_output_directories_free (LuOutputDirectories *self);

/* Creates a new file in directory `number` (that of the path with this index), as lu_output_open()
 * does. Only the last component of `path` counts; messages show the whole path. */
int lu_output_directories_create (const LuOutputDirectories *self, guint number, const char *path,
                                  GError **error);
/* Looks at that file, without following a link. Sets errno on failure. */
gboolean lu_output_directories_look (const LuOutputDirectories *self, guint number,
                                     const char *path, struct stat *info);
/* Removes it. Sets errno on failure. */
gboolean lu_output_directories_remove (const LuOutputDirectories *self, guint number,
                                       const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuOutputDirectories, lu_output_directories_free)
