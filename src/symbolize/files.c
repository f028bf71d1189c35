/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.c - opens the files that names are read from; see files.h. */

#include "symbolize/files.h"

#include "base/fd.h"
#include "base/open-file.h"

#include <string.h>

#define DEBUG_ROOT "/usr/lib/debug"
/* Candidates for a debug file in one root. */
#define N_CANDIDATES 4

static gboolean
is_in_memory (const LuFileId *id)
{
  return g_str_has_prefix (id->path, "/memfd:");
}

gboolean
lu_file_is_generated (const LuFileId *id)
{
  const char *path = id->path;

  if (is_in_memory (id))
    return id->build_id == NULL && id->device == 0;
  return path[0] == 0 || g_str_has_prefix (path, "//anon") || g_str_has_prefix (path, "[heap]")
         || g_str_has_prefix (path, "[stack") || g_str_has_prefix (path, "[anon")
         || g_str_has_prefix (path, "/dev/zero") || g_str_has_prefix (path, "anon_inode:")
         || g_str_has_prefix (path, "/anon_hugepage");
}

int
lu_name_file_open (const LuNameFile *file, guint way, struct stat *info)
{
  *info = (struct stat){ 0 };
  if (way == LU_NAME_FILE_WAYS - 1)
    return file->fetched != NULL ? lu_fd_duplicate (file->fetched->program_fd) : -1;
  if (way == 2)
    return file->id->path[0] == '/' && !is_in_memory (file->id)
               ? lu_open_regular (file->id->path, info)
               : -1;
  if (file->pid <= 0)
    return -1;
  if (way == 1 && is_in_memory (file->id))
    return lu_open_program (file->pid, info);
  if (way == 1)
    return file->id->path[0] == '/'
               ? lu_open_in_root (file->pid, file->id->path, LU_OPEN_FOLLOW, info)
               : -1;
  return lu_open_mapped (file->pid, file->start, file->end, info);
}

/* On btrfs and overlayfs, stat() and mappings have different devices. */
static gboolean
has_inode (const LuFileId *id, guint way, const struct stat *info)
{
  return info->st_ino == id->inode && (way == 0 || id->device == 0 || info->st_dev == id->device);
}

LuNameFileMatch
lu_name_file_match (const LuNameFile *file, guint way, const char *build_id,
                    const struct stat *info)
{
  const LuFileId *id = file->id;

  if (id->build_id == NULL)
    return id->inode == 0 || has_inode (id, way, info) ? LU_NAME_FILE_CLAIMS : LU_NAME_FILE_OTHER;
  if (build_id == NULL || g_ascii_strcasecmp (build_id, id->build_id) != 0)
    return LU_NAME_FILE_OTHER;
  return id->inode != 0 && has_inode (id, way, info) ? LU_NAME_FILE_SAME : LU_NAME_FILE_CLAIMS;
}

/* Returns a path of a debug file within a root, owned; NULL if the file does not have that one. */
static char *
debug_path (const char *path, const char *build_id, const char *debug_link, guint candidate)
{
  g_autofree char *directory = NULL;

  if (candidate == 0)
    return build_id != NULL && strlen (build_id) > 2
               ? g_strdup_printf (DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2)
               : NULL;
  if (path[0] != '/' || debug_link == NULL)
    return NULL;
  directory = g_path_get_dirname (path);
  return candidate == 1   ? g_build_filename (DEBUG_ROOT, directory, debug_link, NULL)
         : candidate == 2 ? g_build_filename (directory, ".debug", debug_link, NULL)
                          : g_build_filename (directory, debug_link, NULL);
}

int
lu_debug_file_open (const LuNameFile *file, const char *build_id, const char *debug_link,
                    guint candidate)
{
  gboolean in_its_root = candidate >= N_CANDIDATES;
  guint n_here = (file->pid > 0 ? 2 : 1) * N_CANDIDATES;
  g_autofree char *name = NULL;

  if (candidate > n_here)
    return -2;
  if (candidate == n_here)
    return file->fetched != NULL ? lu_fd_duplicate (file->fetched->debug_fd) : -1;
  name = debug_path (file->id->path, build_id, debug_link, candidate % N_CANDIDATES);
  if (name == NULL)
    return -1;
  return in_its_root ? lu_open_in_root (file->pid, name, LU_OPEN_FOLLOW, NULL)
                     : lu_open_regular (name, NULL);
}
