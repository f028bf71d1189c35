/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* identity.c - opens files, and compares them with the kernel's description of the mapping; see
 * identity.h. */

#include "module/identity.h"

#include "base/fd.h"
#include "base/open-file.h"

#include <stdio.h>
#include <sys/sysmacros.h>

/* Enough for a process with about ten thousand mappings; the rest is ignored. */
#define MAX_MAPS (4u << 20)

/* Returns what follows the address range in the line of a mapping in /proc/PID/maps, or NULL. */
static const char *
find_line (const char *maps, guint64 start, guint64 end)
{
  g_autofree char *range =
      g_strdup_printf ("%08" G_GINT64_MODIFIER "x-%08" G_GINT64_MODIFIER "x ", start, end);
  gsize length = strlen (range);

  for (const char *line = maps; line != NULL && *line != '\0';)
    {
      if (strncmp (line, range, length) == 0)
        return line + length;
      line = strchr (line, '\n');
      if (line != NULL)
        line++;
    }
  return NULL;
}

static gboolean
line_names_key (const char *line, const LuModuleKey *key)
{
  unsigned int major, minor;
  unsigned long long inode;
  gsize length = strlen (key->path);
  int path_at = 0;

  /* permissions offset major:minor inode path */
  if (sscanf (line, "%*s %*x %x:%x %llu %n", &major, &minor, &inode, &path_at) != 3 || path_at == 0)
    return FALSE;
  if (key->has_inode && (major != key->major || minor != key->minor || inode != key->inode))
    return FALSE;
  /* The path may be followed by " (deleted)". */
  return strncmp (line + path_at, key->path, length) == 0;
}

gboolean
lu_identity_is_mapped (const LuModuleKey *key, const LuMappingHint *hint)
{
  char path[32];
  g_autofree char *maps = NULL;
  const char *line;

  if (hint->pid <= 0)
    return FALSE;
  g_snprintf (path, sizeof path, "/proc/%d/maps", hint->pid);
  maps = lu_fd_read_file (path, MAX_MAPS, NULL);
  line = maps != NULL ? find_line (maps, hint->start, hint->end) : NULL;
  return line != NULL && line_names_key (line, key);
}

/* Returns whether the file of `info`, opened by name, is the mapped one: device and inode
 * agree, or the inode agrees and the kernel still reports the mapping with the key's device, inode
 * and path (on btrfs and overlayfs, stat() and mappings have different devices). FALSE if the key
 * has no inode. */
static gboolean
has_inode (const LuModuleKey *key, const struct stat *info, const LuMappingHint *hint)
{
  if (!key->has_inode || info->st_ino != key->inode)
    return FALSE;
  return (major (info->st_dev) == key->major && minor (info->st_dev) == key->minor)
         || lu_identity_is_mapped (key, hint);
}

gboolean
lu_identity_has_build_id (const LuModuleKey *key, const LuImage *image)
{
  gsize size;
  const guint8 *build_id = lu_image_build_id (image, &size);

  size = MIN (size, LU_BUILD_ID_MAX);
  return build_id != NULL && key->build_id_size == size
         && memcmp (build_id, key->build_id, size) == 0;
}

/* A file in memory has a name, but no path leads to it. If it is a program, those who may not
 * follow the links of mappings reach it as what the process runs. */
static gboolean
find_in_memory (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                gpointer user_data)
{
  const LuMappingHint no_mapping = { 0 };
  struct stat info = { 0 };
  int fd = lu_open_program (hint->pid, &info);

  return fd >= 0 && found (fd, has_inode (key, &info, &no_mapping), user_data);
}

static gboolean
find_in_process (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                 gpointer user_data)
{
  struct stat info = { 0 };
  int fd = lu_open_mapped (hint->pid, hint->start, hint->end, &info);

  /* A build-id is sufficient. */
  if (fd >= 0
      && found (fd,
                key->build_id_size == 0
                    && (has_inode (key, &info, hint) || lu_identity_is_mapped (key, hint)),
                user_data))
    return TRUE;
  if (key->kind == LU_MODULE_MEMORY)
    return find_in_memory (key, hint, found, user_data);
  if (key->path[0] != '/')
    return FALSE;
  fd = lu_open_in_root (hint->pid, key->path, LU_OPEN_FOLLOW, &info);
  return fd >= 0 && found (fd, has_inode (key, &info, hint), user_data);
}

void
lu_find_file (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
              gpointer user_data)
{
  struct stat info = { 0 };
  int fd;

  if ((hint->pid > 0 && find_in_process (key, hint, found, user_data))
      || key->kind == LU_MODULE_MEMORY || key->path[0] != '/')
    return;
  fd = lu_open_regular (key->path, &info);
  /* Without an inode or a build-id to compare (old perf.data files), the path must suffice. */
  if (fd >= 0)
    found (fd, has_inode (key, &info, hint) || (!key->has_inode && key->build_id_size == 0),
           user_data);
}
