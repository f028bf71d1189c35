/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-file.h - the symbols of the running kernel, read from /proc/kallsyms when the first name
 * is wanted.
 *
 * All captures of a recording share one. Any thread may drop a reference; only one thread at a time
 * may do anything else. */

#pragma once

#include "symbolize/kallsyms.h"

typedef struct _LuKallsymsFile LuKallsymsFile;

/* Opens /proc/kallsyms now, because the program may lack the right later. NULL if it cannot be read
 * or shows no addresses. */
LuKallsymsFile *lu_kallsyms_file_open (void);
/* Takes a descriptor from lu_kallsyms_open(), or -1 with `symbols` that are known already. */
LuKallsymsFile *lu_kallsyms_file_new (int fd, LuKallsyms *symbols);
LuKallsymsFile *lu_kallsyms_file_ref (LuKallsymsFile *self);
void lu_kallsyms_file_unref (LuKallsymsFile *self);
/* Tells whether a recording was made on the kernel that runs now: `release` is that of uname(), and
 * the function `name` is at `address`. Either text may be NULL (unknown). */
gboolean lu_kallsyms_file_is_of (LuKallsymsFile *self, const char *release, const char *name,
                                 guint64 address);
/* Returns the functions of the file, which is read at the first call; NULL if it cannot be read.
 * Borrowed. */
const LuKallsyms *lu_kallsyms_file_load (LuKallsymsFile *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsymsFile, lu_kallsyms_file_unref)
