/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* find-file.h - where the file behind a mapping can be found; used by opener.c. */

#pragma once

#include "module/identity.h"

/* Told of a regular file, which is open for reading; takes it. is_known: it is the key's file by
 * device and inode, or there is nothing to compare with; else only a build-id can tell. Returns
 * TRUE if nothing else is to be tried. */
typedef gboolean (*LuFoundFunc) (int fd_taken, gboolean is_known, gpointer user_data);

/* Tries, one after the other: the process's own link to what it has mapped (/proc/PID/map_files),
 * the path in its root, and the path here; with no pid in the hint only the last one. */
void lu_find_file (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                   gpointer user_data);
