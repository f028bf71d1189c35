/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opener.c - finds and opens the file of a module; see opener.h. */

#include "module/opener.h"

#include "base/clock.h"
#include "base/copy-file.h"
#include "base/fd.h"
#include "base/speed.h"
#include "base/time-budget.h"
#include "elf/own-vdso.h"
#include "module/file-rows.h"
#include "module/identity.h"
#include "module/image-cache.h"

/* Most files have no table and are never sampled: smaller CFI is kept, because reading it twice
 * costs more than its memory. */
#define SMALL_CFI_BYTES (512u << 10)

struct _LuOpener
{
  gboolean is_live;
  gboolean drops_cfi;
  LuImageCache *images;
  LuImage *vdso_images[2]; /* owned; vDSOs of this kernel: 64-bit, 32-bit */
  LuTables *tables;        /* borrowed; NULL: none */
  LuTimeBudget *budget;
};

typedef enum
{
  OPEN_GONE,   /* no such file, or a different one */
  OPEN_BROKEN, /* the right file, but unusable */
  OPEN_READY,
} Outcome;

/* If tables are stored, a file that matters will have one, so large CFI is digested but not kept.
 */
static LuImage *
open_image (LuOpener *self, int fd, GError **error)
{
  gboolean has_store = self->drops_cfi && lu_tables_store (self->tables) != NULL;
  const LuImageOpening opening = { .may_drop_cfi = self->drops_cfi,
                                   .keep_up_to = has_store ? SMALL_CFI_BYTES : G_MAXSIZE };

  return lu_image_open_as (fd, &opening, error);
}

/* Drops the CFI if there is a table, otherwise reads it, unless it is compressed: that takes long,
 * and most files are never sampled. */
static void
fetch_cfi (LuOpener *self, LuImage *image, int fd)
{
  if (!self->drops_cfi)
    return;
  if (lu_table_slot_is_enough (lu_image_cache_slot (self->images, image)))
    lu_image_drop_cfi (image);
  else if (!lu_image_is_compressed (image))
    lu_image_refill_cfi (image, fd);
}

/* Gives the file a table with rows from elsewhere than CFI, unless it has it. maker: NULL for none.
 */
static void
extend_table (LuOpener *self, LuImage *image, int fd, const LuFileRowsMaker *maker)
{
  LuTableSlot *slot = lu_image_cache_slot (self->images, image);
  g_autoptr (LuExtraRows) rows = NULL;

  if (slot == NULL || maker == NULL || lu_table_slot_is_extended (slot))
    return;
  rows = lu_file_rows_make (maker, image, fd);
  if (rows != NULL)
    lu_table_slot_extend (slot, image, rows, lu_file_rows_may_be_stored (fd));
}

typedef struct
{
  LuOpener *opener;
  const LuModuleKey *key;
  Outcome outcome;
  LuImage *image;        /* reference if OPEN_READY */
  LuInterp *interpreter; /* owned; NULL: none */
} Opening;

/* Reads the file and decides whether it is the module's. */
static Outcome
take_file (Opening *self, int fd, gboolean is_known)
{
  LuOpener *opener = self->opener;
  const LuModuleKey *key = self->key;
  const LuFileRowsMaker *maker = NULL;
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
  /* A build-id from the kernel must always agree. */
  if (key->build_id_size > 0 && !lu_identity_has_build_id (key, opened))
    return OPEN_GONE;
  if (!lu_image_cache_has_room (opener->images, opened))
    {
      g_debug ("%s: the limit of memory for all files is reached", key->path);
      return OPEN_BROKEN;
    }
  if (opener->tables != NULL)
    maker = lu_file_rows_find_maker (opened, fd);
  if (maker != NULL && !lu_image_digest_code (opened, fd)) /* the file changes */
    return OPEN_BROKEN;
  self->image = lu_image_cache_share (opener->images, g_steal_pointer (&opened), opener->tables);
  fetch_cfi (opener, self->image, fd);
  extend_table (opener, self->image, fd, maker);
  if (opener->is_live)
    self->interpreter = lu_interp_recognize (key->path, fd);
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
open_file (LuOpener *self, LuModule *module, const LuMappingHint *hint, LuImage **image)
{
  const LuModuleKey *key = lu_module_key (module);
  Opening opening = { .opener = self, .key = key, .outcome = OPEN_GONE };

  lu_find_file (key, hint, open_found, &opening);
  *image = opening.image;
  if (opening.interpreter != NULL)
    lu_module_take_interpreter (module, opening.interpreter);
  /* Without privilege only programs can be opened; generated code is not to be tried again. */
  if (opening.outcome == OPEN_GONE && key->kind == LU_MODULE_MEMORY
      && lu_identity_is_mapped (key, hint))
    return OPEN_BROKEN;
  return opening.outcome;
}

/* vDSO. */

/* Never read the vDSO from the memory of its process: the process could make the read hang. */
static Outcome
open_vdso (LuOpener *self, const LuModuleKey *key, LuImage **image)
{
  LuImage **slot = &self->vdso_images[key->is_32bit != FALSE];

  if (*slot == NULL)
    {
      gsize size = 0;
      gconstpointer bytes = key->is_32bit == (sizeof (gpointer) == 4) ? lu_own_vdso (&size)
                            : key->is_32bit && self->is_live          ? lu_kernel_vdso_32 (&size)
                                                                      : NULL;

      *slot = bytes != NULL ? lu_image_new_from_memory (bytes, size, NULL) : NULL;
    }
  if (*slot == NULL || (key->build_id_size > 0 && !lu_identity_has_build_id (key, *slot))
      || (!self->is_live && key->build_id_size == 0))
    return OPEN_GONE;
  *image = lu_image_ref (*slot);
  return OPEN_READY;
}

/* Creation and limits. */

LuOpener *
lu_opener_new (gboolean live, gsize budget)
{
  LuOpener *self = g_new0 (LuOpener, 1);

  self->is_live = live;
  self->images = lu_image_cache_new (budget);
  self->budget = lu_time_budget_new (&lu_time_shares_for_files, lu_machine_slowness ());
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
  lu_time_budget_free (self->budget);
  g_free (self);
}

void
lu_opener_set_tables (LuOpener *self, LuTables *tables)
{
  self->tables = tables;
}

void
lu_opener_allow_cfi_drop (LuOpener *self)
{
  self->drops_cfi = self->tables != NULL;
}

void
lu_opener_settle (LuOpener *self)
{
  lu_image_cache_settle (self->images);
}

/* Publishes the outcome, and takes the image. */
static void
publish (LuOpener *self, LuModule *module, Outcome outcome, LuImage *image)
{
  static const LuModuleState states[] = {
    [OPEN_GONE] = LU_MODULE_GONE,
    [OPEN_BROKEN] = LU_MODULE_BROKEN,
    [OPEN_READY] = LU_MODULE_READY,
  };
  LuTableSlot *slot = image != NULL ? lu_image_cache_slot (self->images, image) : NULL;
  gsize digest_size;

  if (slot != NULL)
    lu_module_take_slot (module, lu_table_slot_ref (slot));
  if (image != NULL)
    lu_image_digest (image, &digest_size); /* other threads may ask for it later */
  lu_module_publish (module, states[outcome], image);
  lu_image_cache_drop_unused (self->images);
  lu_opener_settle (self);
}

gboolean
lu_opener_open (LuOpener *self, LuModule *module, gint32 pid, guint64 start, guint64 end)
{
  const LuModuleKey *key = lu_module_key (module);
  const LuMappingHint hint = { .pid = self->is_live ? pid : 0, .start = start, .end = end };
  guint64 begin = lu_thread_cpu_ns ();
  Outcome outcome = OPEN_BROKEN;
  gboolean must_wait;
  LuImage *image = NULL;

  if (lu_module_state (module) > LU_MODULE_WAITING)
    return TRUE;
  if (!lu_time_budget_has (self->budget, hint.pid))
    {
      lu_module_set_waiting (module);
      return FALSE;
    }
  if (key->kind == LU_MODULE_VDSO)
    outcome = open_vdso (self, key, &image);
  else if (lu_module_key_is_file (key))
    outcome = open_file (self, module, &hint, &image);
  must_wait = lu_copy_left_unfinished () && outcome != OPEN_READY;
  if (must_wait)
    lu_module_set_waiting (module);
  else
    publish (self, module, outcome, image);
  lu_time_budget_charge (self->budget, hint.pid, lu_thread_cpu_ns () - begin);
  return !must_wait;
}

typedef struct
{
  const LuModuleKey *key;
  int fd; /* -1: not found yet */
} Reopening;

static gboolean
keep_if_same (int fd_taken, gboolean is_known, gpointer user_data)
{
  Reopening *self = user_data;
  const LuImageOpening looking = { .may_drop_cfi = TRUE, .ignores_cfi = TRUE };
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

  if (reopening.key->kind == LU_MODULE_MEMORY && lu_module_state (module) != LU_MODULE_READY)
    return -1;
  lu_find_file (reopening.key, &hint, keep_if_same, &reopening);
  return reopening.fd;
}
