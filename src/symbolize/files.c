/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.c - opens files that have names in them; see files.h. */

#include "symbolize/files.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DEBUG_ROOT "/usr/lib/debug"
/* of debug files, in one root */
#define N_PLACES   4
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Turns a place (O_PATH, taken) into a descriptor for reading, if it is a regular file. */
static int
reopen_regular (int place)
{
  lu_autofd fd = place;
  struct stat info;
  char path[32];

  if (fd < 0 || fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    return -1;
  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, READ_FLAGS);
}

int
lu_name_file_open_regular (const char *path)
{
  return reopen_regular (open (path, O_PATH | O_CLOEXEC));
}

static int
open_beneath (gint32 pid, const char *path, int flags)
{
  struct open_how how = { .flags = (guint64) (O_PATH | O_CLOEXEC | flags),
                          .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
  char root_path[32];
  lu_autofd root = -1;

  g_snprintf (root_path, sizeof root_path, "/proc/%d/root", pid);
  root = open (root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return -1;
  return reopen_regular ((int) syscall (SYS_openat2, root, path, &how, sizeof how));
}

int
lu_name_file_open_in_root (gint32 pid, const char *path)
{
  return open_beneath (pid, path, O_NOFOLLOW);
}

int
lu_name_file_open (const LuNameFile *file, guint way)
{
  char path[80];

  if (way == LU_NAME_FILE_WAYS - 1)
    return file->fetched != NULL ? lu_fd_duplicate (file->fetched->program_fd) : -1;
  if (way == 2)
    return file->path[0] == '/' ? lu_name_file_open_regular (file->path) : -1;
  if (file->pid <= 0)
    return -1;
  if (way == 1)
    return file->path[0] == '/' ? open_beneath (file->pid, file->path, 0) : -1;
  g_snprintf (path, sizeof path,
              "/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", file->pid,
              file->start, file->end);
  return lu_name_file_open_regular (path);
}

gboolean
lu_name_file_is (const LuNameFile *file, const char *build_id, int fd)
{
  struct stat info;

  if (file->build_id != NULL)
    return build_id != NULL && g_ascii_strcasecmp (build_id, file->build_id) == 0;
  return file->inode == 0 || (fstat (fd, &info) == 0 && info.st_ino == file->inode);
}

/* Where a debug file may be, within a root; NULL: not there. */
static char *
debug_path (const char *path, const char *build_id, const char *debug_link, guint place)
{
  g_autofree char *folder = NULL;

  if (place == 0)
    return build_id != NULL && strlen (build_id) > 2
               ? g_strdup_printf (DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2)
               : NULL;
  if (path[0] != '/' || debug_link == NULL)
    return NULL;
  folder = g_path_get_dirname (path);
  return place == 1   ? g_build_filename (DEBUG_ROOT, folder, debug_link, NULL)
         : place == 2 ? g_build_filename (folder, ".debug", debug_link, NULL)
                      : g_build_filename (folder, debug_link, NULL);
}

int
lu_debug_file_open (const LuNameFile *file, const char *build_id, const char *debug_link,
                    guint candidate)
{
  gboolean in_its_root = candidate >= N_PLACES;
  guint n_here = (file->pid > 0 ? 2 : 1) * N_PLACES;
  g_autofree char *name = NULL;

  if (candidate > n_here)
    return -2;
  if (candidate == n_here)
    return file->fetched != NULL ? lu_fd_duplicate (file->fetched->debug_fd) : -1;
  name = debug_path (file->path, build_id, debug_link, candidate % N_PLACES);
  if (name == NULL)
    return -1;
  return in_its_root ? open_beneath (file->pid, name, 0) : lu_name_file_open_regular (name);
}
