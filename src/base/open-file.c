/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* open-file.c - see open-file.h. */

#include "base/open-file.h"

#include "base/fd.h"

#include <errno.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Returns whether the kernel makes up the file: then reading it may have effects or never end, as
 * with trace_pipe, although it is a regular file. */
static gboolean
is_made_up (int fd)
{
  static const guint32 magic[] = {
    PROC_SUPER_MAGIC,   SYSFS_MAGIC,         TRACEFS_MAGIC,      DEBUGFS_MAGIC,  SECURITYFS_MAGIC,
    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,       PSTOREFS_MAGIC, EFIVARFS_MAGIC,
    SELINUX_MAGIC,      BINFMTFS_MAGIC,      DEVPTS_SUPER_MAGIC,
  };
  struct statfs info;

  if (fstatfs (fd, &info) != 0)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (magic); i++)
    if ((guint32) info.f_type == magic[i])
      return TRUE;
  return FALSE;
}

/* Reopens an O_PATH descriptor (taken) for reading if it is a regular file that is stored. */
static int
reopen_regular (int path_fd, struct stat *info)
{
  lu_autofd fd = path_fd;
  struct stat own_info;
  char path[32];

  if (info == NULL)
    info = &own_info;
  if (fd < 0 || fstat (fd, info) != 0 || !S_ISREG (info->st_mode) || is_made_up (fd))
    return -1;
  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, READ_FLAGS);
}

int
lu_open_regular (const char *path, struct stat *info)
{
  return reopen_regular (open (path, O_PATH | O_CLOEXEC), info);
}

int
lu_open_in_root (gint32 pid, const char *path, LuOpenFlags flags, struct stat *info)
{
  int no_follow = (flags & LU_OPEN_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  struct open_how how = { .flags = (guint64) (O_PATH | O_CLOEXEC | no_follow),
                          .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
  char root_path[32];
  lu_autofd root = -1;
  int path_fd;

  g_snprintf (root_path, sizeof root_path, "/proc/%d/root", pid);
  root = open (root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return -1;
  path_fd = (int) syscall (SYS_openat2, root, path, &how, sizeof how);
  /* EPERM: a system call filter that does not know openat2. */
  if (path_fd < 0 && (flags & LU_OPEN_WITHOUT_OPENAT2) != 0 && (errno == ENOSYS || errno == EPERM))
    path_fd = openat (root, path + strspn (path, "/"), O_PATH | O_CLOEXEC | no_follow);
  lu_fd_clear (&root);
  return reopen_regular (path_fd, info);
}

int
lu_open_mapped (gint32 pid, guint64 start, guint64 end, struct stat *info)
{
  char path[80];

  g_snprintf (path, sizeof path,
              "/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", pid, start,
              end);
  return lu_open_regular (path, info);
}

int
lu_open_program (gint32 pid, struct stat *info)
{
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d/exe", pid);
  return lu_open_regular (path, info);
}
