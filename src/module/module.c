/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module.c - one mapped file; see module.h.
 *
 * The outcome is published once: the worker claims the right to publish, sets the image, then
 * stores the state with release. Readers load the state with acquire before they use the image. */

#include "module/module.h"

#include <stdbool.h>

struct _LuModule
{
  atomic_int ref_count;
  guint32 id;
  gboolean is_announced;              /* drain thread */
  atomic_bool is_ours;                /* worker */
  LuModuleKey key;                    /* path: owned */
  atomic_bool is_claimed;             /* a thread publishes or has published the outcome */
  atomic_int state;                   /* LuModuleState */
  LuImage *image;                     /* owned; valid from state READY on */
  _Atomic (LuCallSites *) call_sites; /* owned */
  _Atomic (LuCfi *) cfi;              /* owned; NULL until the CFI was in memory */
  LuTableSlot *slot;                  /* reference; published like image; NULL: no whole tables */
  LuInterp *interpreter;              /* owned; published like image; NULL: none */
};

static atomic_uint n_modules; /* the last id in use */
static atomic_uint n_published;

LuModule *
lu_module_new (const LuModuleKey *key)
{
  LuModule *self = g_new0 (LuModule, 1);

  atomic_init (&self->ref_count, 1);
  self->id = atomic_fetch_add_explicit (&n_modules, 1, memory_order_relaxed) + 1;
  self->key = *key;
  self->key.path = g_strdup (key->path != NULL ? key->path : "");
  self->key.build_id_size = MIN (key->build_id_size, LU_BUILD_ID_MAX);
  atomic_init (&self->state, LU_MODULE_PENDING);
  return self;
}

LuModule *
lu_module_ref (LuModule *self)
{
  atomic_fetch_add_explicit (&self->ref_count, 1, memory_order_relaxed);
  return self;
}

gboolean
lu_module_is_unshared (LuModule *self)
{
  return atomic_load_explicit (&self->ref_count, memory_order_acquire) == 1;
}

void
lu_module_unref (LuModule *self)
{
  if (self == NULL || atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) != 1)
    return;
  lu_cfi_free (atomic_load_explicit (&self->cfi, memory_order_relaxed));
  lu_image_unref (self->image);
  lu_call_sites_free (atomic_load_explicit (&self->call_sites, memory_order_relaxed));
  lu_table_slot_unref (self->slot);
  g_free (self->interpreter);
  g_free ((char *) self->key.path);
  g_free (self);
}

const LuModuleKey *
lu_module_key (const LuModule *self)
{
  return &self->key;
}

const char *
lu_module_path (const LuModule *self)
{
  return self->key.path;
}

guint32
lu_module_id (const LuModule *self)
{
  return self->id;
}

LuModuleState
lu_module_state (const LuModule *self)
{
  return (LuModuleState) atomic_load_explicit (&self->state, memory_order_acquire);
}

LuImage *
lu_module_image (const LuModule *self)
{
  return lu_module_state (self) == LU_MODULE_READY ? self->image : NULL;
}

gsize
lu_module_image_bytes (const LuModule *self)
{
  return lu_module_state (self) == LU_MODULE_READY ? lu_image_resident_bytes (self->image) : 0;
}

gboolean
lu_module_is_pending (const LuModule *self)
{
  return lu_module_state (self) <= LU_MODULE_WAITING
         && (lu_module_key_is_file (&self->key) || self->key.kind == LU_MODULE_VDSO);
}

gboolean
lu_module_announce_once (LuModule *self)
{
  if (self->is_announced || !lu_module_is_pending (self))
    return FALSE;
  self->is_announced = TRUE;
  return TRUE;
}

void
lu_module_set_ours (LuModule *self)
{
  if (self->key.kind == LU_MODULE_FILE && self->key.has_inode)
    atomic_store_explicit (&self->is_ours, true, memory_order_relaxed);
}

gboolean
lu_module_is_ours (const LuModule *self)
{
  return atomic_load_explicit (&self->is_ours, memory_order_relaxed);
}

void
lu_module_take_slot (LuModule *self, LuTableSlot *slot)
{
  g_assert (lu_module_state (self) <= LU_MODULE_WAITING && self->slot == NULL);
  self->slot = slot;
}

void
lu_module_take_interpreter (LuModule *self, LuInterp *interpreter)
{
  g_assert (lu_module_state (self) <= LU_MODULE_WAITING && self->interpreter == NULL);
  self->interpreter = interpreter;
}

const LuInterp *
lu_module_interpreter (const LuModule *self)
{
  return lu_module_state (self) == LU_MODULE_READY ? self->interpreter : NULL;
}

const struct lu_interp_file *
lu_module_interp (const LuModule *self)
{
  const LuInterp *interpreter = lu_module_interpreter (self);

  return interpreter != NULL ? &interpreter->file : NULL;
}

gboolean
lu_module_find_rule (const LuModule *self, guint64 address, struct lu_rule *rule)
{
  return self->slot != NULL && lu_table_slot_find (self->slot, address, rule);
}

LuTableSlot *
lu_module_table_slot (const LuModule *self)
{
  return lu_module_state (self) == LU_MODULE_READY ? self->slot : NULL;
}

LuCfi *
lu_module_cfi (const LuModule *self)
{
  return atomic_load_explicit (&self->cfi, memory_order_acquire);
}

gboolean
lu_module_has_tables (const LuModule *self)
{
  return lu_image_is_64bit (self->image)
         && lu_arch_with_tables (lu_image_machine (self->image)) != NULL;
}

void
lu_module_prepare_cfi (LuModule *self)
{
  LuImage *image = self->image;

  if (lu_module_cfi (self) != NULL || !lu_image_hold_cfi (image))
    return;
  atomic_store_explicit (&self->cfi, lu_cfi_new_for_look_ups (image), memory_order_release);
  lu_image_release_cfi (image);
}

void
lu_module_note_miss (const LuModule *self)
{
  if (self->slot != NULL)
    lu_table_slot_miss (self->slot, self->image);
}

void
lu_module_set_waiting (LuModule *self)
{
  int pending = LU_MODULE_PENDING;

  atomic_compare_exchange_strong (&self->state, &pending, LU_MODULE_WAITING);
}

void
lu_module_publish (LuModule *self, LuModuleState state, LuImage *image)
{
  g_assert (state > LU_MODULE_WAITING && (state == LU_MODULE_READY) == (image != NULL));

  if (atomic_exchange (&self->is_claimed, true))
    {
      lu_image_unref (image);
      return;
    }
  self->image = image;
  if (image != NULL)
    lu_module_prepare_cfi (self);
  atomic_store_explicit (&self->state, (int) state, memory_order_release);
  atomic_fetch_add_explicit (&n_published, 1, memory_order_release);
}

guint
lu_modules_published (void)
{
  return atomic_load_explicit (&n_published, memory_order_acquire);
}

const LuCallSites *
lu_module_call_sites (const LuModule *self)
{
  return atomic_load_explicit (&self->call_sites, memory_order_acquire);
}

LuCallSites *
lu_module_make_call_sites (LuModule *self)
{
  LuCallSites *sites = atomic_load_explicit (&self->call_sites, memory_order_relaxed);

  if (sites == NULL)
    {
      sites = lu_call_sites_new ();
      atomic_store_explicit (&self->call_sites, sites, memory_order_release);
    }
  return sites;
}

const guint8 *
lu_module_build_id (const LuModule *self, gsize *size)
{
  LuImage *image = lu_module_image (self);
  const guint8 *build_id = NULL;

  *size = 0;
  if (image != NULL)
    build_id = lu_image_build_id (image, size);
  if (build_id == NULL && self->key.build_id_size > 0)
    {
      build_id = self->key.build_id;
      *size = self->key.build_id_size;
    }
  return build_id;
}
