/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* mounts.c - see mounts.h. */

#include "base/mounts.h"

#include "base/fd.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MAX_MOUNTINFO (4u << 20)
/* The kernel stacks no more file systems (FILESYSTEM_MAX_STACK_DEPTH). */
#define MAX_DEPTH 2

/* One line of mountinfo. Nothing is copied; texts end with a space or the line. */
typedef struct
{
  guint64 id;
  dev_t device;
  const char *point, *type, *options; /* options: of the file system */
} Mount;

static const char *
skip_words (const char *text, guint n)
{
  for (; text != NULL && n > 0; n--)
    {
      text = strchr (text, ' ');
      text = text != NULL ? text + 1 : NULL;
    }
  return text;
}

/* Reads the line at *next, which then is the one after it. FALSE at the end; a line that cannot be
 * read has no type. */
static gboolean
read_line (const char **next, Mount *mount)
{
  const char *line = *next, *end, *separator;
  unsigned int number[2];

  *mount = (Mount){ 0 };
  if (line == NULL || *line == 0)
    return FALSE;
  end = strchrnul (line, '\n');
  *next = *end != 0 ? end + 1 : end;
  separator = memmem (line, (gsize) (end - line), " - ", 3);
  if (separator == NULL
      || sscanf (line, "%" G_GUINT64_FORMAT " %*u %u:%u ", &mount->id, &number[0], &number[1]) != 3)
    return TRUE;
  mount->device = makedev (number[0], number[1]);
  mount->point = skip_words (line, 4);
  mount->type = separator + 3;
  mount->options = skip_words (mount->type, 2);
  if (mount->point == NULL || mount->options == NULL || mount->options > end)
    mount->type = NULL;
  return TRUE;
}

static gboolean
is_fuse_type (const Mount *mount)
{
  return g_str_has_prefix (mount->type, "fuse ") || g_str_has_prefix (mount->type, "fuse.")
         || g_str_has_prefix (mount->type, "fuseblk");
}

static gboolean
is_overlay (const Mount *mount)
{
  return g_str_has_prefix (mount->type, "overlay ");
}

/* Returns whether a path leads into the mount, by its letters. A relative path may lead into one
 * whose point it ends. */
static gboolean
leads_into (const Mount *mount, const char *path, gsize length)
{
  gsize point = strcspn (mount->point, " \n");

  if (path[0] == '/')
    return point == 1
           || (length >= point && memcmp (path, mount->point, point) == 0
               && (length == point || path[point] == '/'));
  return point > length && mount->point[point - length - 1] == '/'
         && memcmp (mount->point + point - length, path, length) == 0;
}

static gboolean overlay_may_hang (const char *own, const char *options, guint depth);

/* Returns whether the mount that a directory is in, as its path says, may hang. Of mounts on the
 * same point the last one counts. */
static gboolean
directory_may_hang (const char *own, const char *path, gsize length, guint depth)
{
  Mount mount, found = { 0 };
  gsize longest = 0;

  for (const char *next = own; read_line (&next, &mount);)
    {
      gsize point = mount.type != NULL ? strcspn (mount.point, " \n") : 0;

      if (point == 0 || point < longest || !leads_into (&mount, path, length))
        continue;
      if (path[0] != '/' && !is_fuse_type (&mount) && !is_overlay (&mount))
        continue;
      found = mount;
      longest = point;
    }
  return found.type != NULL
         && (is_fuse_type (&found)
             || (is_overlay (&found) && overlay_may_hang (own, found.options, depth + 1)));
}

/* Returns whether one of the directories of an overlay may hang. They are separated by colons. */
static gboolean
overlay_may_hang (const char *own, const char *options, guint depth)
{
  static const char *const names[] = { "lowerdir=", "lowerdir+=", "datadir+=", "upperdir=" };
  gsize length;

  if (depth > MAX_DEPTH)
    return TRUE;
  for (const char *option = options; *option != 0 && *option != '\n';
       option += length + (option[length] == ','))
    {
      const char *at = NULL, *end;

      length = strcspn (option, ",\n");
      end = option + length;
      for (guint i = 0; i < G_N_ELEMENTS (names) && at == NULL; i++)
        if (g_str_has_prefix (option, names[i]))
          at = option + strlen (names[i]);
      for (gsize n; at != NULL && at < end; at += n + 1)
        {
          n = strcspn (at, ":,\n");
          if (n > 0 && directory_may_hang (own, at, n, depth))
            return TRUE;
        }
    }
  return FALSE;
}

/* Finds a mount by its device, or with device 0 by its id. */
static gboolean
find_mount (const char *mounts, dev_t device, guint64 id, Mount *mount)
{
  for (const char *next = mounts; read_line (&next, mount);)
    if (mount->type != NULL && (device != 0 ? mount->device == device : mount->id == id))
      return TRUE;
  return FALSE;
}

/* Judges a mount of our own mount namespace. */
static gboolean
own_may_hang (const char *own, const Mount *mount)
{
  return is_fuse_type (mount) || (is_overlay (mount) && overlay_may_hang (own, mount->options, 0));
}

gboolean
lu_mount_may_hang_in (const char *own, const char *others, const LuMounted *file)
{
  Mount mount;

  if (find_mount (own, file->device, 0, &mount)
      || (file->mount != 0 && find_mount (own, 0, file->mount, &mount)))
    return own_may_hang (own, &mount);
  if (file->mount == 0)
    return FALSE;
  /* A mount that nobody shows is one that was taken away, or is above the root of the process. */
  if (others == NULL || !find_mount (others, 0, file->mount, &mount))
    return TRUE;
  if (!is_overlay (&mount))
    return is_fuse_type (&mount);
  /* Containers have mounts of file systems that were mounted here. */
  return !find_mount (own, mount.device, 0, &mount) || own_may_hang (own, &mount);
}

/* Returns whether the file is one that a process has made in memory: no mount has those. */
static gboolean
is_in_memory (dev_t device)
{
  struct stat info;
  lu_autofd fd = memfd_create ("device", MFD_CLOEXEC);

  return fd >= 0 && fstat (fd, &info) == 0 && info.st_dev == device;
}

/* Returns how much of memory the queue of a FUSE file system may fill, owned; NULL if the device is
 * none. FUSE names its queues by its devices, and so does NFS. */
static char *
read_queue (dev_t device)
{
  char path[64];

  g_snprintf (path, sizeof path, "/sys/class/bdi/%u:%u%s/max_ratio", major (device), minor (device),
              major (device) != 0 ? "-fuseblk" : "");
  return lu_fd_read_file (path, 8, NULL);
}

gboolean
lu_mount_may_hang (const LuMounted *file)
{
  g_autofree char *ratio = read_queue (file->device), *own = NULL, *others = NULL;
  Mount mount;
  char path[32];

  /* The others that are stored on disks are most of all, and the list of mounts may be long. */
  if (ratio == NULL && major (file->device) != 0)
    return FALSE;
  own = lu_fd_read_file ("/proc/self/mountinfo", MAX_MOUNTINFO, NULL);
  if (own == NULL)
    return TRUE;
  /* The queues of FUSE may fill 1 % of memory, unless an administrator changes that. */
  if (ratio != NULL)
    return find_mount (own, file->device, 0, &mount) ? is_fuse_type (&mount)
                                                     : strcmp (ratio, "1\n") == 0;
  if (file->pid > 0)
    {
      g_snprintf (path, sizeof path, "/proc/%d/mountinfo", file->pid);
      others = lu_fd_read_file (path, MAX_MOUNTINFO, NULL);
    }
  return lu_mount_may_hang_in (own, others, file) && !is_in_memory (file->device);
}

gboolean
lu_mount_admits_root_alone (void)
{
  g_autofree char *mounts = lu_fd_read_file ("/proc/self/mountinfo", MAX_MOUNTINFO, NULL);
  g_auto (GStrv) lines = g_strsplit (mounts != NULL ? mounts : "", "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], " - fuse") != NULL && strstr (lines[i], ",user_id=0,") != NULL
        && strstr (lines[i], ",allow_other") == NULL)
      return TRUE;
  return FALSE;
}
