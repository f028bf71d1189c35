/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store.c - the directory of stored tables: finds, reads, writes and removes them; see store.h. */

#include "config.h"

#include "table/store-private.h"

#include "base/caller.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/pages.h"
#include "table-maker.h"

#include <dirent.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SUFFIX        ".table"
#define KERNEL        "kernel-functions"
#define NEW_PREFIX    ".new-"
#define NAME_BUILD_ID 20 /* bytes of the build-id and of the digest in a name */
#define NAME_DIGEST   16
#define WRITE_TRIES   8
/* Writing takes a moment; an unfinished file of this age was left by a writer that died. */
#define STALE_SECONDS 3600
/* Maximum error of the time of last use: a day, so that reading hardly ever writes. */
#define USE_SECONDS 86400
/* For blocks of this size the allocator maps new memory. */
#define POPULATE_MIN (128u << 10)
/* Limit for unused bytes of a huge page. */
#define HUGE_PAGE_WASTE ((gsize) 256 << 10)

const char *
lu_store_result_title (LuStoreResult result)
{
  static const char *const titles[] = {
#define X(NAME, title) title,
    LU_STORE_RESULT_LIST (X)
#undef X
  };

  return result < LU_N_STORE_RESULTS ? titles[result] : "?";
}

/* Tables depend on every detail of the compiler and of the ELF reader, so they are valid only for
 * programs built from the same sources. */
static const guint8 maker[LU_DIGEST_SIZE] = LU_TABLE_MAKER;

const guint8 *
lu_store_maker (void)
{
  return maker;
}

/* The directory. */

char *
lu_store_default_path (void)
{
  const char *path = secure_getenv ("LIVE_UNWINDER_STORE");
  const char *cache;

  if (path != NULL)
    return path[0] != 0 ? g_strdup (path) : NULL;
  if (lu_caller_uid () == 0)
    return g_strdup ("/var/cache/live-unwinder");
  cache = g_get_user_cache_dir (); /* also without the variable */
  return cache != NULL && g_path_is_absolute (cache)
             ? g_build_filename (cache, "live-unwinder", NULL)
             : NULL;
}

/* Returns whether it belongs to us and nobody else may write to it. */
static gboolean
is_private (const struct stat *info)
{
  return info->st_uid == lu_caller_uid () && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static LuStore *
open_at (int directory_taken, LuStoreMode mode, GError **error)
{
  lu_autofd directory = directory_taken;
  struct stat info;
  LuStore *self;

  if (fstat (directory, &info) != 0 || !S_ISDIR (info.st_mode) || !is_private (&info))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_PERMISSION,
                           _ ("it is not your own directory, or other users may write to it"));
      return NULL;
    }
  self = g_new0 (LuStore, 1);
  self->directory = lu_fd_steal (&directory);
  self->keeper = lu_keeper_new ();
  self->owns_keeper = TRUE;
  self->number = lu_keeper_add (self->keeper, self->directory, (uid_t) -1, (gid_t) -1);
  self->is_read_only = mode == LU_STORE_READ_ONLY;
  self->pending = -1;
  pthread_mutex_init (&self->pending_mutex, NULL);
  return self;
}

LuStore *
lu_store_open (const char *path, LuStoreMode mode, GError **error)
{
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int directory = open (path, flags);
  LuStore *self;

  if (directory < 0 && errno == ENOENT && mode == LU_STORE_READ_WRITE
      && g_mkdir_with_parents (path, 0700) == 0)
    directory = open (path, flags);
  if (directory < 0)
    {
      /* A symbolic link does not count as a directory. */
      g_set_error (error, LU_ERROR, errno == ENOTDIR ? LU_ERROR_PERMISSION : LU_ERROR_FAILED,
                   "%s: %s", path, g_strerror (errno));
      return NULL;
    }
  self = open_at (directory, mode, error);
  if (self == NULL)
    g_prefix_error (error, "%s: ", path);
  return self;
}

void
lu_store_free (LuStore *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->pending);
  pthread_mutex_destroy (&self->pending_mutex);
  if (self->owns_keeper)
    lu_keeper_free (self->keeper);
  close (self->directory);
  g_free (self);
}

void
lu_store_set_keeper (LuStore *self, LuKeeper *keeper)
{
  lu_keeper_free (self->keeper);
  self->keeper = keeper;
  self->owns_keeper = FALSE;
  self->number = lu_keeper_add (keeper, self->directory, (uid_t) -1, (gid_t) -1);
}

void
lu_store_set_read_only (LuStore *self)
{
  g_atomic_int_set (&self->is_read_only, TRUE);
}

gboolean
lu_store_is_read_only (const LuStore *self)
{
  return g_atomic_int_get (&self->is_read_only);
}

/* Returns whether files in the directory may be created, changed and removed. */
static gboolean
is_writable (const LuStore *self)
{
  return !lu_store_is_read_only (self) && self->pending < 0;
}

/* A name has the build-id, for people, and the digest. */

static void
make_name (char *name, const LuImage *image, const guint8 *identity)
{
  gsize build_id_size;
  const guint8 *build_id = lu_image_build_id (image, &build_id_size);

  name = lu_hex_write (name, build_id, MIN (build_id_size, NAME_BUILD_ID));
  *name++ = '-';
  name = lu_hex_write (name, identity, NAME_DIGEST);
  strcpy (name, SUFFIX);
}

gboolean
lu_store_is_our_name (const char *name)
{
  const char *end = name + strspn (name, LU_HEX_DIGITS "-");

  return strlen (name) < LU_STORE_MAX_NAME && strcmp (end, SUFFIX) == 0;
}

/* Reading. */

static void
note_use (const LuStore *self, const char *name, const struct stat *info)
{
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;

  if (is_writable (self) && ABS (now - info->st_mtim.tv_sec) > USE_SECONDS)
    lu_keeper_touch (self->keeper, self->number, name);
}

/* Returns the bytes of huge pages that hold nearly all of the block, with little waste. */
static gsize
huge_bytes (gsize size)
{
  return (size + HUGE_PAGE_WASTE) / LU_HUGE_PAGE * LU_HUGE_PAGE;
}

/* Returns memory for g_free(), or NULL. The pages of a large block are populated, as huge pages if
 * allowed, which is ten times as fast. */
static guint8 *
allocate (gsize size)
{
  gsize huge = huge_bytes (size);
  gpointer bytes = NULL;

  if (huge == 0)
    bytes = g_try_malloc (size);
  else if (posix_memalign (&bytes, LU_HUGE_PAGE, MAX (size, huge)) == 0)
    madvise (bytes, huge, MADV_HUGEPAGE);
  else
    bytes = NULL;
  if (bytes != NULL && size >= POPULATE_MIN)
    lu_pages_populate (bytes, size);
  return bytes;
}

gboolean
lu_store_is_ours_alone (int fd, struct stat *info)
{
  return fstat (fd, info) == 0 && S_ISREG (info->st_mode) && is_private (info)
         && info->st_nlink <= 1; /* 0: just replaced by another writer */
}

static LuStoreResult
read_opened (int fd, struct stat *info, gsize max_bytes, guint8 **bytes, gsize *size)
{
  if (!lu_store_is_ours_alone (fd, info))
    return LU_STORE_FOREIGN;
  if (info->st_size <= 0 || (guint64) info->st_size > max_bytes)
    return LU_STORE_SIZE;
  *size = (gsize) info->st_size;
  *bytes = allocate (*size);
  if (*bytes == NULL || lu_fd_pread_all (fd, *bytes, *size, 0) != (gssize) *size)
    {
      g_clear_pointer (bytes, g_free);
      return LU_STORE_SIZE;
    }
  return LU_STORE_LOADED;
}

static int
open_file (const LuStore *self, const char *name)
{
  return openat (self->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

LuStoreResult
lu_store_read_file (const LuStore *self, const char *name, gsize max_bytes, guint8 **bytes,
                    gsize *size)
{
  lu_autofd fd = open_file (self, name);
  struct stat info;
  LuStoreResult result;

  if (fd < 0)
    return errno == ENOENT ? LU_STORE_MISSING : LU_STORE_FOREIGN;
  result = read_opened (fd, &info, max_bytes, bytes, size);
  if (result == LU_STORE_LOADED)
    note_use (self, name, &info);
  return result;
}

LuTable *
lu_store_load_as (LuStore *self, const LuImage *image, const guint8 *identity, gsize max_bytes,
                  LuStoreResult *result)
{
  char name[LU_STORE_MAX_NAME];
  guint8 *bytes;
  gsize size;

  make_name (name, image, identity);
  *result = lu_store_read_file (self, name, MIN (max_bytes, G_MAXUINT32), &bytes, &size);
  if (*result != LU_STORE_LOADED)
    return NULL;
  return lu_store_decode (bytes, size, identity, maker, result);
}

LuTable *
lu_store_load (LuStore *self, const LuImage *image, gsize max_bytes, LuStoreResult *result)
{
  gsize digest_size;

  return lu_store_load_as (self, image, lu_image_digest (image, &digest_size), max_bytes, result);
}

int
lu_store_open_kernel (const LuStore *self)
{
  lu_autofd fd = open_file (self, KERNEL);
  struct stat info;

  return fd >= 0 && lu_store_is_ours_alone (fd, &info) ? lu_fd_steal (&fd) : -1;
}

/* Writing. */

/* Creates a file under a temporary name. Returns -1 with errno set. */
static int
open_new (const LuStore *self, char name[LU_STORE_MAX_NAME])
{
  int fd = -1;

  for (guint i = 0; fd < 0 && i < WRITE_TRIES; i++)
    {
      g_snprintf (name, LU_STORE_MAX_NAME, NEW_PREFIX "%08x%08x", g_random_int (), g_random_int ());
      fd = lu_keeper_create (self->keeper, self->number, name);
      if (fd < 0 && errno != EEXIST)
        break;
    }
  return fd;
}

static gboolean
append (LuStore *self, const LuStoreRecord *record, const guint8 *bytes)
{
  if (record->size > LU_STORE_PENDING_BYTES
      || self->pending_bytes > LU_STORE_PENDING_BYTES - record->size)
    {
      errno = EFBIG;
      return FALSE;
    }
  if (!lu_fd_write_all (self->pending, record, sizeof *record)
      || !lu_fd_write_all (self->pending, bytes, record->size))
    {
      /* Records after an incomplete one would never be found. */
      self->pending_bytes = G_MAXUINT64;
      return FALSE;
    }
  self->pending_bytes += sizeof *record + record->size;
  return TRUE;
}

static gboolean
write_pending (LuStore *self, const char *name, const guint8 *bytes, gsize size)
{
  LuStoreRecord record = { .magic = LU_STORE_RECORD_MAGIC, .size = size };
  gboolean ok;

  g_strlcpy (record.name, name, sizeof record.name);
  pthread_mutex_lock (&self->pending_mutex);
  ok = append (self, &record, bytes);
  pthread_mutex_unlock (&self->pending_mutex);
  return ok;
}

gboolean
lu_store_write_file (LuStore *self, const char *name, const guint8 *bytes, gsize size)
{
  char new_name[LU_STORE_MAX_NAME];
  gboolean ok;
  int fd, saved;

  if (self->pending >= 0)
    return write_pending (self, name, bytes, size);
  fd = open_new (self, new_name);
  if (fd < 0)
    return FALSE;
  ok = lu_fd_write_all (fd, bytes, size);
  saved = errno;
  if (close (fd) != 0 && ok)
    {
      ok = FALSE;
      saved = errno;
    }
  if (ok && lu_keeper_rename (self->keeper, self->number, new_name, name))
    return TRUE;
  saved = ok ? errno : saved;
  lu_keeper_remove (self->keeper, self->number, new_name);
  errno = saved;
  return FALSE;
}

gboolean
lu_store_save_as (LuStore *self, const LuImage *image, const guint8 *identity, const LuTable *table)
{
  char name[LU_STORE_MAX_NAME];
  g_autofree guint8 *bytes = NULL;
  gsize size;

  if (lu_store_is_read_only (self))
    {
      errno = EROFS;
      return FALSE;
    }
  make_name (name, image, identity);
  bytes = lu_store_encode (table, identity, maker, &size);
  return lu_store_write_file (self, name, bytes, size);
}

gboolean
lu_store_save (LuStore *self, const LuImage *image, const LuTable *table)
{
  gsize digest_size;

  return lu_store_save_as (self, image, lu_image_digest (image, &digest_size), table);
}

gboolean
lu_store_save_kernel (LuStore *self, const char *bytes, gsize size)
{
  if (is_writable (self))
    return lu_store_write_file (self, KERNEL, (const guint8 *) bytes, size);
  errno = EROFS;
  return FALSE;
}

/* Removing. */

typedef struct
{
  char name[LU_STORE_MAX_NAME];
  gint64 last_use;
  guint64 bytes;
} Stored;

static int
compare_by_use (gconstpointer a, gconstpointer b)
{
  const Stored *left = a, *right = b;

  return left->last_use < right->last_use ? -1 : left->last_use > right->last_use;
}

/* Adds the file to `stored` if it is a table, or removes it if a writer that died left it. */
static void
look_at (const LuStore *self, const char *name, GArray *stored)
{
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  Stored entry = { 0 };
  struct stat info;

  if (fstatat (self->directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (g_str_has_prefix (name, NEW_PREFIX) && ABS (now - info.st_mtim.tv_sec) > STALE_SECONDS)
    lu_keeper_remove (self->keeper, self->number, name);
  if (!lu_store_is_our_name (name) || !S_ISREG (info.st_mode))
    return;
  g_strlcpy (entry.name, name, sizeof entry.name);
  entry.last_use = info.st_mtim.tv_sec;
  entry.bytes = (guint64) info.st_blocks * 512;
  g_array_append_val (stored, entry);
}

static GArray *
list_files (const LuStore *self)
{
  int fd = openat (self->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir (fd) : NULL;
  GArray *stored;
  struct dirent *entry;

  if (directory == NULL)
    {
      lu_fd_clear (&fd);
      return NULL;
    }
  stored = g_array_new (FALSE, FALSE, sizeof (Stored));
  while ((entry = readdir (directory)) != NULL)
    look_at (self, entry->d_name, stored);
  closedir (directory);
  return stored;
}

gboolean
lu_store_prune (LuStore *self, guint64 max_bytes, LuStorePruned *pruned)
{
  g_autoptr (GArray) stored = is_writable (self) ? list_files (self) : NULL;

  *pruned = (LuStorePruned){ 0 };
  if (stored == NULL)
    {
      errno = is_writable (self) ? errno : EROFS;
      return FALSE;
    }
  g_array_sort (stored, compare_by_use);
  pruned->n_files = stored->len;
  for (guint i = 0; i < stored->len; i++)
    pruned->bytes += g_array_index (stored, Stored, i).bytes;
  for (guint i = 0; i < stored->len; i++)
    {
      const Stored *entry = &g_array_index (stored, Stored, i);

      if (pruned->bytes <= max_bytes && pruned->n_files <= LU_STORE_MAX_FILES)
        break;
      if (!lu_keeper_remove (self->keeper, self->number, entry->name))
        continue;
      pruned->n_files--;
      pruned->n_removed++;
      pruned->bytes -= entry->bytes;
      pruned->removed_bytes += entry->bytes;
    }
  return TRUE;
}
