/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* find-file.c - see find-file.h. */

#include "module/find-file.h"

#include "base/open-file.h"

/* A file in memory has a name, but no path leads to it. If it is a program, those who may not
 * follow the links of mappings reach it as what the process runs. */
static gboolean
find_in_memory (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                gpointer user_data)
{
  const LuMappingHint no_mapping = { 0 };
  struct stat info = { 0 };
  int fd = lu_open_program (hint->pid, &info);

  return fd >= 0 && found (fd, lu_identity_has_inode (key, &info, &no_mapping), user_data);
}

static gboolean
find_in_process (const LuModuleKey *key, const LuMappingHint *hint, LuFoundFunc found,
                 gpointer user_data)
{
  struct stat info = { 0 };
  int fd = lu_open_mapped (hint->pid, hint->start, hint->end, &info);

  /* A build-id is sufficient. */
  if (fd >= 0
      && found (
          fd,
          key->build_id_size == 0
              && (lu_identity_has_inode (key, &info, hint) || lu_identity_is_mapped (key, hint)),
          user_data))
    return TRUE;
  if (key->kind == LU_MODULE_MEMORY)
    return find_in_memory (key, hint, found, user_data);
  if (key->path[0] != '/')
    return FALSE;
  fd = lu_open_in_root (hint->pid, key->path, LU_OPEN_WITHOUT_OPENAT2, &info);
  return fd >= 0 && found (fd, lu_identity_has_inode (key, &info, hint), user_data);
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
    found (fd,
           lu_identity_has_inode (key, &info, hint) || (!key->has_inode && key->build_id_size == 0),
           user_data);
}
