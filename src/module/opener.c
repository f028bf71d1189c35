/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opener.c - finds and opens the file behind a module; see opener.h.
 *
 * A name is first opened as a mere place (O_PATH), which has no effect on devices and FIFOs, and
 * again for reading only when that place is a regular file. At most two descriptors are open at
 * once, none after. */

#include "module/opener.h"

#include "base/clock.h"
#include "base/fd.h"
#include "module/identity.h"
#include "table/store-alias.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define MAX_VDSO   65536
/* Of all images together: all programs of a large system have some 150 MB, a running one 20. More
 * is somebody who maps files that he has made for that. */
#define MAX_IMAGE_BYTES ((gsize) 512 << 20)

#define SECOND_NS G_GUINT64_CONSTANT (1000000000)
/* All images are looked at for that. */
#define SETTLE_NS (SECOND_NS / 10)

/* An image that was opened, kept for the next module with an equal file. */
typedef struct
{
  LuImage *image;    /* owned */
  LuTableSlot *slot; /* reference; NULL: no whole tables */
  guint64 last_use;
  gboolean was_cfi_used; /* lately */
} Kept;

struct _LuOpener
{
  gboolean is_live;
  guint64 settled, noted; /* ns */
  gsize lean_from;        /* 0: nothing is lean */
  gsize budget, max_bytes;
  guint64 n_uses;
  GHashTable *images;      /* image (borrowed from it) -> Kept */
  LuImage *vdso_images[2]; /* owned; of this kernel: 64-bit, 32-bit */
  LuTables *tables;        /* borrowed; NULL: none */
};

typedef enum
{
  OPEN_GONE,   /* nothing there, or another file */
  OPEN_BROKEN, /* the file, but nothing we can use */
  OPEN_READY,
} Outcome;

/* Images */

static guint
image_hash (gconstpointer image)
{
  return lu_image_hash (image);
}

static gboolean
image_equal (gconstpointer a, gconstpointer b)
{
  return lu_image_is_same (a, b);
}

static void
kept_free (gpointer data)
{
  Kept *kept = data;

  lu_image_unref (kept->image);
  lu_table_slot_unref (kept->slot);
  g_free (kept);
}

/* Takes a fresh image; returns (with a reference for the caller) the one of an equal file if there
 * is one. */
static LuImage *
share_image (LuOpener *self, LuImage *image)
{
  Kept *kept = g_hash_table_lookup (self->images, image);

  if (kept == NULL)
    {
      kept = g_new0 (Kept, 1);
      kept->image = lu_image_ref (image);
      if (self->tables != NULL)
        kept->slot = lu_tables_add (self->tables, image);
      g_hash_table_insert (self->images, kept->image, kept);
    }
  kept->last_use = ++self->n_uses;
  lu_image_ref (kept->image);
  lu_image_unref (image);
  return kept->image;
}

/* The vDSO's image is not among the kept ones: it is small. */
static void
give_slot (LuOpener *self, LuModule *module, const LuImage *image)
{
  const Kept *kept = g_hash_table_lookup (self->images, image);

  if (kept != NULL && kept->image == image && kept->slot != NULL)
    lu_module_take_slot (module, lu_table_slot_ref (kept->slot));
}

/* Drops images that no module uses, the longest unused first, until the rest is within the budget.
 */
static void
enforce_budget (LuOpener *self)
{
  for (;;)
    {
      LuImage *oldest = NULL;
      guint64 oldest_use = G_MAXUINT64;
      gsize unused = 0;
      GHashTableIter iter;
      gpointer value;

      g_hash_table_iter_init (&iter, self->images);
      while (g_hash_table_iter_next (&iter, NULL, &value))
        {
          const Kept *kept = value;

          if (!lu_image_is_unshared (kept->image))
            continue;
          unused += lu_image_resident_bytes (kept->image);
          if (kept->last_use < oldest_use)
            {
              oldest = kept->image;
              oldest_use = kept->last_use;
            }
        }
      if (unused <= self->budget || oldest == NULL)
        return;
      g_hash_table_remove (self->images, oldest);
    }
}

/* Takes the notes of use, which hold for a second at least. */
static void
note_cfi_use (LuOpener *self, guint64 now)
{
  gboolean is_new_second = now - self->noted >= SECOND_NS;
  GHashTableIter iter;
  gpointer value;

  if (is_new_second)
    self->noted = now;
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Kept *kept = value;

      kept->was_cfi_used =
          lu_image_was_cfi_used (kept->image) || (kept->was_cfi_used && !is_new_second);
    }
}

/* How much the CFI of an image would be missed. */
static guint
cfi_worth (const Kept *kept)
{
  return 2 * kept->was_cfi_used + (kept->slot == NULL || !lu_table_slot_is_enough (kept->slot));
}

/* The droppable CFI that would be missed least, but not of the file that was opened last. */
static Kept *
find_least_worth (LuOpener *self)
{
  Kept *found = NULL;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Kept *kept = value;

      if (kept->last_use == self->n_uses || !lu_image_is_cfi_droppable (kept->image))
        continue;
      if (found == NULL || cfi_worth (kept) < cfi_worth (found)
          || (cfi_worth (kept) == cfi_worth (found) && kept->last_use < found->last_use))
        found = kept;
    }
  return found;
}

/* What is in use may take more, or it would be read over and over. */
static gboolean
is_too_much (const Kept *kept)
{
  return lu_images_cfi_bytes ()
         > (kept->was_cfi_used ? LU_OPENER_USED_CFI_BYTES : LU_OPENER_CFI_BYTES);
}

void
lu_opener_settle (LuOpener *self)
{
  guint64 now = lu_monotonic_ns ();
  Kept *kept;

  if (self->lean_from == 0 || lu_images_cfi_bytes () <= LU_OPENER_CFI_BYTES
      || (lu_images_cfi_bytes () <= LU_OPENER_USED_CFI_BYTES && now - self->settled < SETTLE_NS))
    return;
  self->settled = now;
  note_cfi_use (self, now);
  while ((kept = find_least_worth (self)) != NULL && is_too_much (kept)
         && lu_image_drop_cfi (kept->image))
    ;
}

void
lu_opener_age (LuOpener *self)
{
  GHashTableIter iter;
  gpointer value;

  note_cfi_use (self, lu_monotonic_ns ());
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Kept *kept = value;

      if (cfi_worth (kept) == 0)
        lu_image_drop_cfi (kept->image);
    }
}

static gboolean
has_room (LuOpener *self, const LuImage *image)
{
  gsize bytes = lu_image_resident_bytes (image);
  GHashTableIter iter;
  gpointer value;

  if (g_hash_table_contains (self->images, image))
    return TRUE;
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    bytes += lu_image_resident_bytes (((const Kept *) value)->image);
  return bytes <= self->max_bytes;
}

/* Files */

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

static LuStore *
store_of (const LuOpener *self)
{
  return self->lean_from > 0 ? lu_tables_store (self->tables) : NULL;
}

/* By an alias, if that leads to a table; NULL if not. */
static LuImage *
open_known (LuOpener *self, int fd, const LuFileStamp *stamp)
{
  LuImageSections sections;
  const LuImageOpening opening = { .lean_from = self->lean_from, .known = &sections };
  LuStore *store = store_of (self);
  g_autoptr (LuImage) image = NULL;

  if (!lu_store_find_alias (store, stamp, &sections))
    return NULL;
  image = lu_image_open_as (fd, &opening, NULL);
  return image != NULL && lu_store_has (store, image) ? g_steal_pointer (&image) : NULL;
}

/* Where tables are stored there will be one of a file that matters: its CFI is only looked at. */
static LuImage *
open_image (LuOpener *self, int fd, GError **error)
{
  LuStore *store = store_of (self);
  const LuImageOpening opening = { .lean_from = self->lean_from, .is_kept = store == NULL };
  LuImageSections sections;
  LuFileStamp before, after;
  gboolean has_stamp = store != NULL && lu_file_stamp_read (&before, fd);
  LuImage *image = has_stamp ? open_known (self, fd, &before) : NULL;

  if (image != NULL)
    return image;
  image = lu_image_open_as (fd, &opening, error);
  if (has_stamp && image != NULL && lu_image_section_digests (image, &sections)
      && lu_store_has (store, image) && lu_file_stamp_read (&after, fd)
      && memcmp (&before, &after, sizeof before) == 0)
    lu_store_save_alias (store, &before, &sections);
  return image;
}

/* It is needed until there is a table. */
static void
fetch_cfi (LuOpener *self, LuImage *image, int fd)
{
  const Kept *kept = g_hash_table_lookup (self->images, image);

  if (self->lean_from > 0 && !lu_table_slot_is_enough (kept->slot))
    lu_image_refill_cfi (image, fd);
}

/* Reads the file and decides whether it is the module's. `is_known`: by device and inode, or
 * because there is nothing to compare with. Takes `fd`. */
static Outcome
take_file (LuOpener *self, const LuModuleKey *key, int fd, gboolean is_known, LuImage **image)
{
  lu_autofd owned = fd;
  g_autoptr (GError) error = NULL;
  LuImage *opened;

  if (owned < 0 || (!is_known && key->build_id_size == 0))
    return OPEN_GONE;
  opened = open_image (self, owned, &error);
  if (opened == NULL)
    {
      g_debug ("%s: %s", key->path, error->message);
      return is_known ? OPEN_BROKEN : OPEN_GONE;
    }
  /* A build-id that the kernel reported always has to agree. */
  if (key->build_id_size > 0 ? !lu_identity_has_build_id (key, opened) : !is_known)
    {
      lu_image_unref (opened);
      return OPEN_GONE;
    }
  if (!has_room (self, opened))
    {
      g_debug ("%s: the limit of memory for all files is reached", key->path);
      lu_image_unref (opened);
      return OPEN_BROKEN;
    }
  *image = share_image (self, opened);
  fetch_cfi (self, *image, owned);
  return OPEN_READY;
}

static Outcome
open_live (LuOpener *self, const LuModuleKey *key, const LuMappingHint *hint, LuImage **image)
{
  struct stat info = { 0 };
  gboolean is_known;
  Outcome outcome = OPEN_GONE;
  int fd;

  if (hint->pid <= 0)
    return OPEN_GONE;
  fd = open_by_mapping (hint, &info);
  if (fd >= 0)
    {
      is_known = key->build_id_size == 0
                 && (lu_identity_has_inode (key, &info, hint) || lu_identity_is_mapped (key, hint));
      outcome = take_file (self, key, fd, is_known, image);
    }
  if (outcome != OPEN_GONE || key->path[0] != '/')
    return outcome;
  fd = open_in_root (hint->pid, key->path, &info);
  is_known = fd >= 0 && lu_identity_has_inode (key, &info, hint);
  return take_file (self, key, fd, is_known, image);
}

static Outcome
open_file (LuOpener *self, const LuModuleKey *key, const LuMappingHint *hint, LuImage **image)
{
  struct stat info = { 0 };
  gboolean is_known;
  Outcome outcome = OPEN_GONE;
  int fd;

  if (self->is_live)
    outcome = open_live (self, key, hint, image);
  if (outcome != OPEN_GONE || key->path[0] != '/')
    return outcome;
  fd = open_by_path (key->path, &info);
  if (fd < 0)
    return OPEN_GONE;
  /* With nothing to compare (old perf.data files) the path has to do. */
  is_known =
      lu_identity_has_inode (key, &info, hint) || (!key->has_inode && key->build_id_size == 0);
  return take_file (self, key, fd, is_known, image);
}

/* vDSO */

/* Ours is everybody's: the kernel has one of each kind. */
static LuImage *
read_own_vdso (void)
{
  guint64 at = getauxval (AT_SYSINFO_EHDR), start, end;
  g_autofree char *maps = lu_fd_read_file ("/proc/self/maps", MAX_VDSO * 16, NULL);

  for (const char *line = maps; at != 0 && line != NULL && *line != '\0';)
    {
      if (sscanf (line, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", &start, &end) == 2
          && start == at)
        return lu_image_new_from_memory ((gconstpointer) (guintptr) at, MIN (end - start, MAX_VDSO),
                                         NULL);
      line = strchr (line, '\n');
      if (line != NULL)
        line++;
    }
  return NULL;
}

static LuImage *
read_vdso_of (const LuMappingHint *hint)
{
  char path[32];
  lu_autofd fd = -1;
  guint64 size = hint->end - hint->start;
  g_autofree guint8 *bytes = NULL;

  if (hint->pid <= 0 || hint->end <= hint->start || size > MAX_VDSO)
    return NULL;
  g_snprintf (path, sizeof path, "/proc/%d/mem", hint->pid);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  bytes = g_malloc (size);
  if (fd < 0 || lu_fd_pread_all (fd, bytes, size, (gint64) hint->start) != (gssize) size)
    return NULL;
  return lu_image_new_from_memory (bytes, size, NULL);
}

static Outcome
open_vdso (LuOpener *self, const LuModuleKey *key, const LuMappingHint *hint, LuImage **image)
{
  LuImage **slot = &self->vdso_images[key->is_32bit != FALSE];

  if (*slot == NULL && !key->is_32bit && sizeof (gpointer) == 8)
    *slot = read_own_vdso ();
  if (*slot == NULL && self->is_live)
    {
      g_autoptr (LuImage) read = read_vdso_of (hint);

      /* Only if that process was still what the record said. */
      if (read != NULL && lu_image_is_64bit (read) != key->is_32bit)
        *slot = g_steal_pointer (&read);
    }
  if (*slot == NULL || (key->build_id_size > 0 && !lu_identity_has_build_id (key, *slot))
      || (!self->is_live && key->build_id_size == 0))
    return OPEN_GONE;
  *image = lu_image_ref (*slot);
  return OPEN_READY;
}

/* The opener */

LuOpener *
lu_opener_new (gboolean live, gsize budget)
{
  LuOpener *self = g_new0 (LuOpener, 1);

  self->is_live = live;
  self->budget = budget;
  self->max_bytes = MAX_IMAGE_BYTES;
  self->images = g_hash_table_new_full (image_hash, image_equal, NULL, kept_free);
  return self;
}

void
lu_opener_set_limit (LuOpener *self, gsize max_bytes)
{
  self->max_bytes = max_bytes;
}

void
lu_opener_free (LuOpener *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->images);
  lu_image_unref (self->vdso_images[0]);
  lu_image_unref (self->vdso_images[1]);
  g_free (self);
}

void
lu_opener_set_tables (LuOpener *self, LuTables *tables)
{
  self->tables = tables;
}

void
lu_opener_be_lean (LuOpener *self, gsize min_bytes)
{
  self->lean_from = self->tables != NULL ? min_bytes : 0;
}

void
lu_opener_open (LuOpener *self, LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  static const LuModuleState states[] = {
    [OPEN_GONE] = LU_MODULE_GONE,
    [OPEN_BROKEN] = LU_MODULE_BROKEN,
    [OPEN_READY] = LU_MODULE_READY,
  };
  const LuModuleKey *key = lu_module_key (module);
  LuMappingHint hint = { .pid = pid, .start = start, .end = end };
  Outcome outcome = OPEN_BROKEN;
  LuImage *image = NULL;

  if (lu_module_state (module) != LU_MODULE_PENDING)
    return;
  if (key->kind == LU_MODULE_VDSO)
    outcome = open_vdso (self, key, &hint, &image);
  else if (key->kind == LU_MODULE_FILE)
    outcome = open_file (self, key, &hint, &image);
  if (image != NULL)
    give_slot (self, module, image);
  lu_module_publish (module, states[outcome], image);
  enforce_budget (self);
  lu_opener_settle (self);
}

/* Takes `fd` and returns it if its file is the module's. */
static int
keep_if_same (const LuModule *module, int fd, gboolean is_known)
{
  const LuModuleKey *key = lu_module_key (module);
  const LuImageSections unknown = { 0 };
  const LuImageOpening looking = { .lean_from = 1, .known = &unknown }; /* not at the CFI */
  g_autoptr (LuImage) opened = NULL;
  lu_autofd owned = fd;

  if (owned < 0)
    return -1;
  if (key->build_id_size == 0)
    return is_known ? lu_fd_steal (&owned) : -1;
  opened = lu_image_open_as (owned, &looking, NULL);
  return opened != NULL && lu_identity_has_build_id (key, opened) ? lu_fd_steal (&owned) : -1;
}

int
lu_opener_reopen (const LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  const LuModuleKey *key = lu_module_key (module);
  LuMappingHint hint = { .pid = pid, .start = start, .end = end };
  struct stat info = { 0 };
  int fd = pid > 0 ? open_by_mapping (&hint, &info) : -1;

  if (fd >= 0)
    fd = keep_if_same (module, fd,
                       lu_identity_has_inode (key, &info, &hint)
                           || lu_identity_is_mapped (key, &hint));
  if (fd >= 0 || key->path[0] != '/')
    return fd;
  fd = pid > 0 ? open_in_root (pid, key->path, &info) : -1;
  if (fd >= 0)
    fd = keep_if_same (module, fd, lu_identity_has_inode (key, &info, &hint));
  if (fd >= 0)
    return fd;
  fd = open_by_path (key->path, &info);
  return keep_if_same (module, fd,
                       fd >= 0
                           && (lu_identity_has_inode (key, &info, &hint)
                               || (!key->has_inode && key->build_id_size == 0)));
}
