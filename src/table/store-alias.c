/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-alias.c - stamps of files, and the small files that keep aliases; see store-alias.h and
 * docs/unwind-table.md. */

#include "table/store-alias.h"

#include "base/digest.h"
#include "base/fd.h"
#include "table/store-private.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define MAGIC      "LU-ALIAS"
#define VERSION    1
#define NAME_BYTES 16 /* of the stamp's digest, in the name */
#define MIN_AGE_S  10

typedef struct
{
  char magic[8];
  guint32 version;
  guint32 size;
  guint8 checksum[LU_DIGEST_SIZE]; /* of all that follows it */
  guint8 maker[LU_DIGEST_SIZE];    /* who says what a section is: lu_store_maker() */
  LuFileStamp stamp;
  LuImageSections sections;
} Alias;

_Static_assert(sizeof (Alias) == 256, "without holes");

#define SEALED_AT (G_STRUCT_OFFSET (Alias, checksum) + LU_DIGEST_SIZE)

typedef char Name[2 * NAME_BYTES + sizeof LU_STORE_ALIAS_SUFFIX];

/* Stamps */

/* What is the same for all files, read once. */
typedef struct
{
  guint8 boot[16];
  gboolean has_boot;
  dev_t devices[2]; /* of / and /usr; 0: none */
} System;

/* 36 characters, of which 32 are digits. */
static void
read_boot_id (System *self)
{
  g_autofree char *text = lu_fd_read_file ("/proc/sys/kernel/random/boot_id", 64, NULL);
  guint n = 0;

  for (const char *at = text; at != NULL && *at != 0 && n < 32; at++)
    if (g_ascii_isxdigit (*at))
      {
        self->boot[n / 2] = (guint8) (self->boot[n / 2] << 4 | g_ascii_xdigit_value (*at));
        n++;
      }
  self->has_boot = n == 32;
}

static gpointer
read_system (gpointer data)
{
  static const char *const folders[] = { "/", "/usr" };
  static System system;
  struct stat info;

  read_boot_id (&system);
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    system.devices[i] = stat (folders[i], &info) == 0 ? info.st_dev : 0;
  return &system;
}

/* Whose times of change are the kernel's own. */
static gboolean
is_local (const struct statfs *fs)
{
  return fs->f_type == EXT4_SUPER_MAGIC || fs->f_type == XFS_SUPER_MAGIC
         || fs->f_type == BTRFS_SUPER_MAGIC || fs->f_type == F2FS_SUPER_MAGIC;
}

static gboolean
is_trusted (const System *system, const struct stat *info)
{
  gint64 age = g_get_real_time () / G_USEC_PER_SEC - info->st_ctim.tv_sec;

  return S_ISREG (info->st_mode) && (info->st_uid == 0 || info->st_uid == geteuid ())
         && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0 && age >= MIN_AGE_S
         && (info->st_dev == system->devices[0] || info->st_dev == system->devices[1]);
}

gboolean
lu_file_stamp_read (LuFileStamp *self, int fd)
{
  static GOnce once = G_ONCE_INIT;
  const System *system = g_once (&once, read_system, NULL);
  struct stat info;
  struct statfs fs;

  if (!system->has_boot || fstat (fd, &info) != 0 || !is_trusted (system, &info)
      || fstatfs (fd, &fs) != 0 || !is_local (&fs))
    return FALSE;
  *self = (LuFileStamp){ .device = info.st_dev,
                         .inode = info.st_ino,
                         .size = (guint64) info.st_size,
                         .changed_s = info.st_ctim.tv_sec,
                         .changed_ns = info.st_ctim.tv_nsec,
                         .modified_s = info.st_mtim.tv_sec,
                         .modified_ns = info.st_mtim.tv_nsec };
  memcpy (&self->file_system, &fs.f_fsid, MIN (sizeof self->file_system, sizeof fs.f_fsid));
  memcpy (self->boot, system->boot, sizeof self->boot);
  return TRUE;
}

/* Aliases */

static void
make_name (Name name, const LuFileStamp *stamp)
{
  guint8 digest[LU_DIGEST_SIZE];

  lu_digest (stamp, sizeof *stamp, digest);
  name[0] = 0;
  lu_store_append_hex (name, digest, NAME_BYTES);
  strcat (name, LU_STORE_ALIAS_SUFFIX);
}

/* All but the sections has to be this. */
static void
fill (Alias *alias, const LuFileStamp *stamp, const LuImageSections *sections)
{
  *alias =
      (Alias){ .version = VERSION, .size = sizeof *alias, .stamp = *stamp, .sections = *sections };
  memcpy (alias->magic, MAGIC, sizeof alias->magic);
  memcpy (alias->maker, lu_store_maker (), sizeof alias->maker);
  lu_digest ((const guint8 *) alias + SEALED_AT, sizeof *alias - SEALED_AT, alias->checksum);
}

gboolean
lu_store_find_alias (LuStore *self, const LuFileStamp *stamp, LuImageSections *sections)
{
  g_autofree guint8 *bytes = NULL;
  Alias alias, want;
  Name name;
  gsize size;

  make_name (name, stamp);
  if (lu_store_read_file (self, name, sizeof alias, &bytes, &size) != LU_STORE_LOADED
      || size != sizeof alias)
    return FALSE;
  memcpy (&alias, bytes, sizeof alias);
  fill (&want, stamp, &alias.sections);
  if (memcmp (&alias, &want, sizeof alias) != 0)
    return FALSE;
  *sections = alias.sections;
  return TRUE;
}

void
lu_store_save_alias (LuStore *self, const LuFileStamp *stamp, const LuImageSections *sections)
{
  Alias alias;
  Name name;

  if (lu_store_is_read_only (self))
    return;
  fill (&alias, stamp, sections);
  make_name (name, stamp);
  lu_store_write_file (self, name, (const guint8 *) &alias, sizeof alias);
}
