/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-alias.h - what the sections of a file hold, remembered by what the file system says of it.
 *
 * Used by module/opener.c. To know a file's table its CFI has to be digested, which for compilers
 * is most of what opening them takes. An alias says the digests of the sections instead. All else
 * that makes a file's identity (size, build-id, program headers) is read from the file
 * nevertheless, so an alias can only ever be wrong of a file that has changed and looks the same in
 * all of that.
 *
 * Device, inode and times are claims of a file system, and whoever mounts one claims what he likes.
 * So a stamp is only taken of a file
 *  - on the device that / or /usr is on, which is never unmounted and has no twin, of a kind whose
 *    times of change nobody can set (ext, XFS, Btrfs, F2FS): no overlay, FUSE, network or loop
 * mount;
 *  - of root's or of ours, that nobody else may write to;
 *  - that has not changed for 10 s, as times of change are no finer than the kernel's clock ticks;
 * and it holds until the machine is booted anew, whatever was done to the disk meanwhile. */

#pragma once

#include "table/store.h"

typedef struct
{
  guint64 device, file_system; /* st_dev; f_fsid */
  guint64 inode, size;
  gint64 changed_s, changed_ns, modified_s, modified_ns;
  guint8 boot[16];
} LuFileStamp;

/* FALSE: no alias is to be had of the file behind `fd`. */
gboolean lu_file_stamp_read (LuFileStamp *self, int fd);

/* FALSE: there is none that is good. */
gboolean lu_store_find_alias (LuStore *self, const LuFileStamp *stamp, LuImageSections *sections);
/* Keeps one, unless the store is read-only. */
void lu_store_save_alias (LuStore *self, const LuFileStamp *stamp, const LuImageSections *sections);
