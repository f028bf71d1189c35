/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* open-file.h - opens regular files whose paths come from other people's processes and captures.
 *
 * Opening a device, a FIFO or a socket can block or have side effects, so a path is first opened
 * with O_PATH, which has neither, and reopened for reading only if it is a regular file of a file
 * system that stores files, unlike /proc, /sys and tracefs. A server of FUSE is never asked for
 * anything, nor an overlay that may ask one (mounts.h): their files are copied (copy-file.h). At
 * most two descriptors are open at a time. None of these functions checks that the file is the
 * expected one; callers compare the inode or the build-id.
 *
 * All functions return a descriptor for reading, or -1. `info` receives the file's own fstat(),
 * also if the descriptor is that of a copy, and may be NULL. */

#pragma once

#include <glib.h>
#include <sys/stat.h>

/* Opens `path` in our own namespace; symbolic links are followed. */
int lu_open_regular (const char *path, struct stat *info);

typedef enum
{
  LU_OPEN_FOLLOW = 0,
  LU_OPEN_NOFOLLOW = 1 << 0, /* fail if the last component is a symbolic link */
} LuOpenFlags;

/* Opens `path` in the root directory of a process; no symbolic link leads out of it. */
int lu_open_in_root (gint32 pid, const char *path, LuOpenFlags flags, struct stat *info);

/* Opens the file mapped at that address range, whatever its path is now. The mapping may have been
 * replaced since it was recorded. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
int lu_open_mapped (gint32 pid, guint64 start, guint64 end, struct stat *info);

/* Opens the program that a process runs, whatever its path is now. Needs no privilege for processes
 * of the same user. */
int lu_open_program (gint32 pid, struct stat *info);
