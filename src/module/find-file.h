/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* find-file.h - opens the file of a mapping; used by opener.c. */

#pragma once

#include "module/identity.h"

/* Receives a regular file, open for reading; takes the descriptor. is_known: it is the key's file
 * by device and inode, or there is nothing to compare; otherwise only a build-id can tell. Returns
 * TRUE to stop the search. */
typedef gboolean (*LuFoundFunc) (int fd_taken, gboolean is_known, gpointer user_data);

/* Tries the process's own link to the mapped file (/proc/PID/map_files), the path in its root
 * directory, and the path in ours. Without a pid in the hint only the last one. A file in memory
 * has no path: instead, the program that the process runs is tried. */
void lu_find_file (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                   gpointer user_data);
