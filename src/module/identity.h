/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* identity.h - whether an opened file is the one that was mapped; used by find-file.c and opener.c.
 */

#pragma once

#include "module/module.h"

#include <sys/stat.h>

/* One mapping of the file, to ask the kernel about: pid 0 if none is known or the process is not
 * here. */
typedef struct
{
  gint32 pid;
  guint64 start, end; /* run-time addresses */
} LuMappingHint;

/* The file behind `info`, opened by a name, is the mapped one: same device and inode, or same inode
 * and the kernel still reports the mapping by the key's device, inode and path (btrfs and overlayfs
 * give stat() another device than mappings have). FALSE also when the key has no inode. */
gboolean lu_identity_has_inode (const LuModuleKey *key, const struct stat *info,
                                const LuMappingHint *hint);
/* The process still has a mapping at exactly this place, and it is of the key's file. */
gboolean lu_identity_is_mapped (const LuModuleKey *key, const LuMappingHint *hint);
/* Both have a build-id and they are equal (the kernel reports at most LU_BUILD_ID_MAX bytes). */
gboolean lu_identity_has_build_id (const LuModuleKey *key, const LuImage *image);
