/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* identity.h - whether an opened file is the one that was mapped; used by find-file.c and opener.c.
 */

#pragma once

#include "module/module.h"

#include <sys/stat.h>

/* One mapping of the file. pid: 0 if none is known or the process is not on this machine. */
typedef struct
{
  gint32 pid;
  guint64 start, end; /* run-time addresses */
} LuMappingHint;

/* Returns whether the file of `info`, opened by name, is the mapped one: device and inode
 * agree, or the inode agrees and the kernel still reports the mapping with the key's device, inode
 * and path (on btrfs and overlayfs, stat() and mappings have different devices). FALSE if the key
 * has no inode. */
gboolean lu_identity_has_inode (const LuModuleKey *key, const struct stat *info,
                                const LuMappingHint *hint);
/* Returns whether the process still has exactly this mapping, of the key's file. */
gboolean lu_identity_is_mapped (const LuModuleKey *key, const LuMappingHint *hint);
/* Returns whether both have a build-id and they are equal (the kernel reports at most
 * LU_BUILD_ID_MAX bytes). */
gboolean lu_identity_has_build_id (const LuModuleKey *key, const LuImage *image);
