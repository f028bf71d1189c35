/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module-cache.h - finds the module for a record or a line of /proc/PID/maps.
 *
 * Drain thread only (main thread before the drain runs). The aliases (device, inode, generation)
 * or, if those are unknown, (build-id, path) lead to one module for all processes. Modules that
 * nothing maps any more are kept for the next process, up to a number and a size; the longest
 * unused are dropped first. */

#pragma once

#include "module/module.h"

typedef struct _LuModuleCache LuModuleCache;

/* Limit for modules that nothing maps any more. */
#define LU_MODULES_MAX_UNMAPPED 128
/* Limit for the bytes of their images: a build runs many programs of its own once. */
#define LU_MODULES_MAX_UNMAPPED_BYTES ((gsize) 12 << 20)

LuModuleCache *lu_module_cache_new (guint max_modules);
void lu_module_cache_free (LuModuleCache *self);

/* Returns the module of the key, borrowed, and creates it if it is new (*is_new). */
LuModule *lu_module_cache_find (LuModuleCache *self, const LuModuleKey *key, gboolean *is_new);
/* Returns the module of all code that programs have copied from their files, borrowed. */
LuModule *lu_module_cache_find_copied (LuModuleCache *self);

/* A 32-bit process has a different vDSO, mapped below 4 GiB. */
static inline gboolean
lu_mmap_is_below_4g (const LuMmapEvent *mmap)
{
  return mmap->start < G_GUINT64_CONSTANT (1) << 32;
}

/* Fills the key in from a record or a line of /proc/PID/maps. The key borrows `path`, or `buffer`
 * if " (deleted)" is cut off. */
void lu_module_key_init (LuModuleKey *key, const char *path, char *buffer, gsize buffer_size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModuleCache, lu_module_cache_free)
