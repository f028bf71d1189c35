/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module-cache.h - finds the module that a record or a line of /proc/PID/maps names.
 *
 * Drain thread only (main thread before it runs). The aliases (device, inode, generation) or, where
 * those are unknown, (build-id, path) lead to one module for all processes. Modules that nothing
 * maps any more are kept for the next process, up to a number and a size; the longest unused are
 * dropped. */

#pragma once

#include "module/module.h"

typedef struct _LuModuleCache LuModuleCache;

/* Modules that nothing maps any more are kept for the next process up to this number. */
#define LU_MODULES_MAX_UNMAPPED 128
/* and this many bytes of their images: a build runs many programs of its own once. */
#define LU_MODULES_MAX_UNMAPPED_BYTES ((gsize) 12 << 20)

/* Called for each new module, so that somebody opens it. */
typedef void (*LuModuleFunc) (LuModule *module, gpointer user_data);

LuModuleCache *lu_module_cache_new (guint max_modules);
void lu_module_cache_free (LuModuleCache *self);

/* The module of the key, made if it is new (*is_new). Borrowed: take a reference to keep it. */
LuModule *lu_module_cache_find (LuModuleCache *self, const LuModuleKey *key, gboolean *is_new);

/* The vDSO of a 32-bit process is another one. */
static inline gboolean
lu_mmap_is_below_4g (const LuMmapEvent *mmap)
{
  return mmap->start < G_GUINT64_CONSTANT (1) << 32;
}

/* The same without a key, of a file or vDSO that was found before; NULL: it has to be looked for.
 * Most records name one of a few. */
LuModule *lu_module_cache_find_again (LuModuleCache *self, const LuMmapEvent *mmap);

/* Fills the key from what a record or a maps line says of a mapping. `path` may be changed by the
 * caller after the call only if the key is not used any more; " (deleted)" is cut off by pointing
 * into `buffer`. */
void lu_module_key_init (LuModuleKey *key, const char *path, char *buffer, gsize buffer_size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModuleCache, lu_module_cache_free)
