/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* output-directories.h - the directories of the outputs of a recording in many files, kept open.
 *
 * Files are created and removed in the directories that were there when the recording began,
 * whatever their paths lead to later. Immutable; any thread. */

#pragma once

#include <glib.h>
#include <sys/stat.h>

typedef struct _LuOutputDirectories LuOutputDirectories;

/* Opens the directory of each path (NULL-terminated). NULL on failure. */
LuOutputDirectories *lu_output_directories_open (char *const *paths, GError **error);
void lu_output_directories_free (LuOutputDirectories *self);

/* Creates a file with lu_output_create_at(), in directory `number` (that of the path with this
 * index). Of `path` only the last component counts; messages show all of it. */
int lu_output_directories_create (const LuOutputDirectories *self, guint number, const char *path,
                                  GError **error);
/* Looks at that file, without following a link. Sets errno on failure. */
gboolean lu_output_directories_look (const LuOutputDirectories *self, guint number,
                                     const char *path, struct stat *info);
/* Removes it. Sets errno on failure. */
gboolean lu_output_directories_remove (const LuOutputDirectories *self, guint number,
                                       const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuOutputDirectories, lu_output_directories_free)
