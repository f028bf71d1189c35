/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* find-file.c - see find-file.h.
 *
 * A name is first opened as a mere place (O_PATH), which has no effect on devices and FIFOs, and
 * again for reading only when that place is a regular file. At most two descriptors are open at
 * once. */

#include "module/find-file.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Turns a place (O_PATH) into a descriptor for reading, if it is a regular file. Takes `place`. */
static int
reopen_regular (int place, struct stat *info)
{
  lu_autofd fd = place;
  char path[32];

  if (fd < 0 || fstat (fd, info) != 0 || !S_ISREG (info->st_mode))
    return -1;
  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, READ_FLAGS);
}

static int
open_in_root (gint32 pid, const char *path, struct stat *info)
{
  struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                          .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
  char root_path[32];
  lu_autofd root = -1;
  int place;

  g_snprintf (root_path, sizeof root_path, "/proc/%d/root", pid);
  root = open (root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return -1;
  place = (int) syscall (SYS_openat2, root, path, &how, sizeof how);
  /* Before Linux 5.6 absolute symbolic links lead out of the root; the identity check catches that.
   */
  if (place < 0 && (errno == ENOSYS || errno == EPERM))
    place = openat (root, path + strspn (path, "/"), O_PATH | O_CLOEXEC);
  lu_fd_clear (&root);
  return reopen_regular (place, info);
}

static int
open_by_path (const char *path, struct stat *info)
{
  return reopen_regular (open (path, O_PATH | O_CLOEXEC), info);
}

/* This link is the mapped file itself. Whether the mapping is still the one the record told of is
 * for the caller to find out. It needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
static int
open_by_mapping (const LuMappingHint *hint, struct stat *info)
{
  char path[80];

  g_snprintf (path, sizeof path,
              "/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", hint->pid,
              hint->start, hint->end);
  return reopen_regular (open (path, O_PATH | O_CLOEXEC), info);
}

static gboolean
find_in_process (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                 gpointer user_data)
{
  struct stat info = { 0 };
  int fd = open_by_mapping (hint, &info);

  /* A build-id decides by itself. */
  if (fd >= 0
      && found (
          fd,
          key->build_id_size == 0
              && (lu_identity_has_inode (key, &info, hint) || lu_identity_is_mapped (key, hint)),
          user_data))
    return TRUE;
  if (key->path[0] != '/')
    return FALSE;
  fd = open_in_root (hint->pid, key->path, &info);
  return fd >= 0 && found (fd, lu_identity_has_inode (key, &info, hint), user_data);
}

void
lu_find_file (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
              gpointer user_data)
{
  struct stat info = { 0 };
  int fd;

  if ((hint->pid > 0 && find_in_process (key, hint, found, user_data)) || key->path[0] != '/')
    return;
  fd = open_by_path (key->path, &info);
  /* With nothing to compare (old perf.data files) the path has to do. */
  if (fd >= 0)
    found (fd,
           lu_identity_has_inode (key, &info, hint) || (!key->has_inode && key->build_id_size == 0),
           user_data);
}
