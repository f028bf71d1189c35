/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* identity.h - finds the file of a mapping, and tells whether it is the one that was mapped; used
 * by opener.c. */

#pragma once

#include "module/module.h"

/* One mapping of the file. pid: 0 if none is known or the process is not on this machine. */
typedef struct
{
  gint32 pid;
  guint64 start, end; /* run-time addresses */
} LuMappingHint;

/* Returns whether the process still has exactly this mapping, of the key's file. */
gboolean lu_identity_is_mapped (const LuModuleKey *key, const LuMappingHint *hint);
/* Returns whether both have a build-id and they are equal (the kernel reports at most
 * LU_BUILD_ID_MAX bytes). */
gboolean lu_identity_has_build_id (const LuModuleKey *key, const LuImage *image);

/* Receives a regular file, open for reading; takes the descriptor. is_known: it is the key's file
 * by device and inode, or there is nothing to compare; otherwise only a build-id can tell. Returns
 * TRUE to stop the search. */
typedef gboolean (*LuFoundFunc) (int fd_taken, gboolean is_known, gpointer user_data);

/* Tries the process's own link to the mapped file (/proc/PID/map_files), the path in its root
 * directory, and the path in ours. Without a pid in the hint only the last one. A file in memory
 * has no path: instead, the program that the process runs is tried. */
void lu_find_file (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                   gpointer user_data);
