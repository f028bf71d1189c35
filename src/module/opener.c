/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opener.c - finds and opens the file behind a module; see opener.h. */

#include "module/opener.h"

#include "base/fd.h"
#include "module/find-file.h"
#include "module/image-cache.h"
#include "table/store-alias.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MAX_VDSO 65536
/* Most files have no table and are never sampled, so less is not read twice to save its memory. */
#define SMALL_CFI_BYTES (512u << 10)

struct _LuOpener
{
  gboolean is_live;
  gboolean is_lean;
  LuImageCache *images;
  LuImage *vdso_images[2]; /* owned; of this kernel: 64-bit, 32-bit */
  LuTables *tables;        /* borrowed; NULL: none */
};

typedef enum
{
  OPEN_GONE,   /* nothing there, or another file */
  OPEN_BROKEN, /* the file, but nothing we can use */
  OPEN_READY,
} Outcome;

static LuStore *
store_of (const LuOpener *self)
{
  return self->is_lean ? lu_tables_store (self->tables) : NULL;
}

/* By an alias, if that leads to a table; NULL if not. */
static LuImage *
open_known (LuOpener *self, int fd, const LuFileStamp *stamp)
{
  LuImageSections sections;
  const LuImageOpening opening = { .is_lean = self->is_lean, .known = &sections };
  LuStore *store = store_of (self);
  g_autoptr (LuImage) image = NULL;

  if (!lu_store_find_alias (store, stamp, &sections))
    return NULL;
  image = lu_image_open_as (fd, &opening, NULL);
  return image != NULL && lu_store_has (store, image) ? g_steal_pointer (&image) : NULL;
}

/* Where tables are stored there will be one of a file that matters: if its CFI is large, it is only
 * looked at. */
static LuImage *
open_image (LuOpener *self, int fd, GError **error)
{
  LuStore *store = store_of (self);
  const LuImageOpening opening = { .is_lean = self->is_lean,
                                   .keep_up_to = store == NULL ? G_MAXSIZE : SMALL_CFI_BYTES };
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
  if (self->is_lean && !lu_table_slot_is_enough (lu_image_cache_slot (self->images, image)))
    lu_image_refill_cfi (image, fd);
}

typedef struct
{
  LuOpener *opener;
  const LuModuleKey *key;
  Outcome outcome;
  LuImage *image; /* reference, if the outcome is that it is ready */
} Opening;

/* Reads the file and decides whether it is the module's. */
static Outcome
take_file (Opening *self, int fd, gboolean is_known)
{
  LuOpener *opener = self->opener;
  const LuModuleKey *key = self->key;
  g_autoptr (GError) error = NULL;
  g_autoptr (LuImage) opened = NULL;

  if (!is_known && key->build_id_size == 0)
    return OPEN_GONE;
  opened = open_image (opener, fd, &error);
  if (opened == NULL)
    {
      g_debug ("%s: %s", key->path, error->message);
      return is_known ? OPEN_BROKEN : OPEN_GONE;
    }
  /* A build-id that the kernel reported always has to agree. */
  if (key->build_id_size > 0 && !lu_identity_has_build_id (key, opened))
    return OPEN_GONE;
  if (!lu_image_cache_has_room (opener->images, opened))
    {
      g_debug ("%s: the limit of memory for all files is reached", key->path);
      return OPEN_BROKEN;
    }
  self->image = lu_image_cache_share (opener->images, g_steal_pointer (&opened), opener->tables);
  fetch_cfi (opener, self->image, fd);
  return OPEN_READY;
}

static gboolean
open_found (int fd_taken, gboolean is_known, gpointer user_data)
{
  Opening *self = user_data;
  lu_autofd fd = fd_taken;

  self->outcome = take_file (self, fd, is_known);
  return self->outcome != OPEN_GONE;
}

static Outcome
open_file (LuOpener *self, const LuModuleKey *key, const LuMappingHint *hint, LuImage **image)
{
  Opening opening = { .opener = self, .key = key, .outcome = OPEN_GONE };

  lu_find_file (key, hint, open_found, &opening);
  *image = opening.image;
  return opening.outcome;
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
  self->images = lu_image_cache_new (budget);
  return self;
}

void
lu_opener_set_limit (LuOpener *self, gsize max_bytes)
{
  lu_image_cache_set_limit (self->images, max_bytes);
}

void
lu_opener_free (LuOpener *self)
{
  if (self == NULL)
    return;
  lu_image_cache_free (self->images);
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
lu_opener_be_lean (LuOpener *self)
{
  self->is_lean = self->tables != NULL;
}

void
lu_opener_settle (LuOpener *self)
{
  if (self->is_lean)
    lu_image_cache_settle (self->images);
}

void
lu_opener_age (LuOpener *self)
{
  lu_image_cache_age (self->images);
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
  const LuMappingHint hint = { .pid = self->is_live ? pid : 0, .start = start, .end = end };
  Outcome outcome = OPEN_BROKEN;
  LuTableSlot *slot;
  LuImage *image = NULL;

  if (lu_module_state (module) != LU_MODULE_PENDING)
    return;
  if (key->kind == LU_MODULE_VDSO)
    outcome = open_vdso (self, key, &hint, &image);
  else if (key->kind == LU_MODULE_FILE)
    outcome = open_file (self, key, &hint, &image);
  slot = image != NULL ? lu_image_cache_slot (self->images, image) : NULL;
  if (slot != NULL)
    lu_module_take_slot (module, lu_table_slot_ref (slot));
  lu_module_publish (module, states[outcome], image);
  lu_image_cache_drop_unused (self->images);
  lu_opener_settle (self);
}

typedef struct
{
  const LuModuleKey *key;
  int fd; /* -1 so far */
} Reopening;

static gboolean
keep_if_same (int fd_taken, gboolean is_known, gpointer user_data)
{
  Reopening *self = user_data;
  const LuImageSections unknown = { 0 };
  const LuImageOpening looking = { .is_lean = TRUE, .known = &unknown }; /* not at the CFI */
  g_autoptr (LuImage) opened = NULL;
  lu_autofd fd = fd_taken;

  if (self->key->build_id_size > 0)
    {
      opened = lu_image_open_as (fd, &looking, NULL);
      is_known = opened != NULL && lu_identity_has_build_id (self->key, opened);
    }
  if (is_known)
    self->fd = lu_fd_steal (&fd);
  return is_known;
}

int
lu_opener_reopen (const LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  const LuMappingHint hint = { .pid = pid, .start = start, .end = end };
  Reopening reopening = { .key = lu_module_key (module), .fd = -1 };

  lu_find_file (reopening.key, &hint, keep_if_same, &reopening);
  return reopening.fd;
}
