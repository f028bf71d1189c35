/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* mounts.h - which file systems a process serves, without asking them.
 *
 * Any user may serve a file system with FUSE, and whoever asks it for anything sleeps until the
 * server answers. An overlay asks the file systems below it. What the kernel says about mounts
 * (/proc/PID/mountinfo) and their queues (/sys/class/bdi) comes from no server. An overlay that is
 * mounted in our own mount namespace is believed to be made of the directories that it names there;
 * any other may have been mounted by the user whose file is to be opened. */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Where a file is. */
typedef struct
{
  dev_t device;
  guint64 mount; /* the mount's id; 0: the kernel does not tell */
  gint32 pid;    /* a process that has the mount, perhaps; 0: none is known */
} LuMounted;

/* Returns whether a server may be asked when the file is opened or read. Virtiofs, served by the
 * host of a virtual machine, is not meant. */
gboolean lu_mount_may_hang (const LuMounted *file);

/* Like that, from the texts of mountinfo: our own, and that of the process or NULL. */
gboolean lu_mount_may_hang_in (const char *own, const char *others, const LuMounted *file);

/* Returns whether a FUSE file system is mounted here that admits root and nobody else. */
gboolean lu_mount_admits_root_alone (void);
