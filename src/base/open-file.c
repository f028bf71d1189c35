/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* open-file.c - see open-file.h. */

#include "base/open-file.h"

#include "base/copy-file.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/mounts.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
/* Symbolic links and ".." in one path; the kernel's own limit is 40 links. */
#define MAX_TURNS 80
/* find(): the path was rewritten. */
#define AGAIN (-2)

/* Where a file is. */
typedef struct
{
  int root;
  const char *path; /* NULL: root is the file */
  LuOpenFlags flags;
  guint64 start, end; /* of its mapping, or 0 */
  gint32 pid;         /* whose mounts these may be; 0: unknown */
  gboolean may_hang;  /* ask servers of FUSE, too */
} Place;

/* The last thing seen on the way to a file. */
typedef struct
{
  dev_t device; /* 0: none yet */
  guint64 inode;
  guint16 mode;
  gboolean is_refused; /* the device must not be asked */
} Looking;

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
  char path[32];

  if (fd < 0 || fstat (fd, info) != 0 || !S_ISREG (info->st_mode) || is_made_up (fd))
    return -1;
  g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  return open (path, READ_FLAGS);
}

/* Fails for files that must not be asked, and says so. device: the last one that may be, or 0;
 * becomes the file's. */
static gboolean
look (const Place *place, int fd, Looking *looking)
{
  struct statx info = { 0 };
  LuMounted file = { .pid = place->pid };
  dev_t last = looking->device;

  if (fd < 0
      || statx (fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID,
                &info)
             != 0)
    return FALSE;
  file.device = makedev (info.stx_dev_major, info.stx_dev_minor);
  file.mount = (info.stx_mask & STATX_MNT_ID) != 0 ? info.stx_mnt_id : 0;
  looking->mode = info.stx_mode;
  looking->inode = info.stx_ino;
  looking->device = file.device;
  looking->is_refused = !place->may_hang && file.device != last && lu_mount_may_hang (&file);
  return !looking->is_refused;
}

/* Puts a text in the place of all between two parts of the path. */
static int
rewrite (char path[PATH_MAX], gsize kept, const char *text, const char *rest)
{
  char rewritten[PATH_MAX];

  if (g_snprintf (rewritten, PATH_MAX, "%.*s%s%s", (int) kept, path, text, rest) >= PATH_MAX)
    return -1;
  memcpy (path, rewritten, PATH_MAX);
  return AGAIN;
}

/* No link precedes "..", so that it takes away one component. */
static int
go_up (char path[PATH_MAX], gsize at, const char *rest)
{
  while (at > 0 && path[at - 1] == '/')
    at--;
  while (at > 0 && path[at - 1] != '/')
    at--;
  return rewrite (path, at, "", rest);
}

static int
follow_link (char path[PATH_MAX], gsize at, const char *rest, int link)
{
  char target[PATH_MAX];
  gssize n = readlinkat (link, "", target, sizeof target - 1);

  if (n <= 0)
    return -1;
  target[n] = 0;
  return rewrite (path, target[0] == '/' ? 0 : at, target, rest);
}

/* Returns an O_PATH descriptor or -1, or AGAIN. One component after the other, so that nobody is
 * asked before it is known who that is. */
static int
find (const Place *place, char path[PATH_MAX], Looking *looking)
{
  lu_autofd fd = lu_fd_duplicate (place->root);
  gsize length;

  if (!look (place, fd, looking))
    return -1;
  for (char *at = path + strspn (path, "/"); *at != 0; at += length + strspn (at + length, "/"))
    {
      char name[NAME_MAX + 1];
      int next;

      length = strcspn (at, "/");
      if (g_snprintf (name, sizeof name, "%.*s", (int) length, at) >= (int) sizeof name)
        return -1;
      if (strcmp (name, "..") == 0)
        return go_up (path, (gsize) (at - path), at + length);
      next = openat (fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
      lu_fd_clear (&fd);
      fd = next;
      if (!look (place, fd, looking))
        return -1;
      if (S_ISLNK (looking->mode))
        return at[length] == 0 && (place->flags & LU_OPEN_NOFOLLOW) != 0
                   ? -1
                   : follow_link (path, (gsize) (at - path), at + length, fd);
    }
  return lu_fd_steal (&fd);
}

/* Returns a descriptor for reading, or -1, and says in *looking whether a device must not be asked.
 */
static int
open_place (const Place *place, struct stat *info, Looking *looking)
{
  char path[PATH_MAX] = "";
  int fd = AGAIN;

  *looking = (Looking){ 0 };
  if (place->path != NULL && g_strlcpy (path, place->path, sizeof path) >= sizeof path)
    return -1;
  for (guint turn = 0; turn < MAX_TURNS && fd == AGAIN; turn++)
    fd = find (place, path, looking);
  return reopen_regular (fd, info);
}

static int
open_apart (int root, gconstpointer data, struct stat *info)
{
  Place place = *(const Place *) data;
  Looking unused;

  place.root = root;
  place.may_hang = TRUE;
  return open_place (&place, info, &unused);
}

/* Returns what tells the file apart: a process may map another one at the same addresses. */
static guint64
key_of (const Place *place, const Looking *looking)
{
  guint64 words[4 + LU_DIGEST_SIZE / sizeof (guint64)] = { (guint32) place->pid, place->start,
                                                           place->end, looking->inode };
  guint8 digest[LU_DIGEST_SIZE];
  guint64 key;

  if (place->path != NULL)
    lu_digest (place->path, strlen (place->path), (guint8 *) &words[4]);
  lu_digest (words, sizeof words, digest);
  memcpy (&key, digest, sizeof key);
  return key;
}

/* Takes the descriptor. */
static int
open_or_copy (int descriptor, Place place, struct stat *info)
{
  lu_autofd root = descriptor;
  struct stat own_info;
  Looking looking = { 0 };
  int fd = -1;

  place.root = root;
  info = info != NULL ? info : &own_info;
  if (root >= 0)
    fd = open_place (&place, info, &looking);
  if (fd >= 0 || !looking.is_refused)
    return fd;
  return lu_copy_file (&(LuCopying){ .open = open_apart,
                                     .fd = root,
                                     .data = &place,
                                     .device = looking.device,
                                     .key = key_of (&place, &looking) },
                       info);
}

int
lu_open_regular (const char *path, struct stat *info)
{
  return open_or_copy (open (path[0] == '/' ? "/" : ".", O_PATH | O_CLOEXEC),
                       (Place){ .path = path }, info);
}

int
lu_open_in_root (gint32 pid, const char *path, LuOpenFlags flags, struct stat *info)
{
  char root[32];

  g_snprintf (root, sizeof root, "/proc/%d/root", pid);
  return open_or_copy (open (root, O_PATH | O_DIRECTORY | O_CLOEXEC),
                       (Place){ .path = path, .flags = flags, .pid = pid }, info);
}

int
lu_open_mapped (gint32 pid, guint64 start, guint64 end, struct stat *info)
{
  char path[80];

  g_snprintf (path, sizeof path,
              "/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", pid, start,
              end);
  return open_or_copy (open (path, O_PATH | O_CLOEXEC),
                       (Place){ .pid = pid, .start = start, .end = end }, info);
}

int
lu_open_program (gint32 pid, struct stat *info)
{
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d/exe", pid);
  return open_or_copy (open (path, O_PATH | O_CLOEXEC), (Place){ .pid = pid }, info);
}
