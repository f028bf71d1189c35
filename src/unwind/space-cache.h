/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* space-cache.h - the mappings of spaces with what unwinding needs to know of each.
 *
 * Used by the table engine. Kept by the serial number of a space, so an entry can be wrong only by
 * being old; it borrows the modules and is used only while its space is there. Belongs to one
 * thread. */

#pragma once

#include "unwind/dwfl-space.h"
#include "unwind/rule-cache.h"

typedef struct
{
  guint64 start, size; /* size 0: its rules are not in the rule cache */
  guint64 to_key;      /* run-time address + to_key is the key of the rule cache */
  LuDwflMapping base;  /* no module of libdwfl */
} LuViewMapping;

#define LU_VIEW_HINT_BITS 5

typedef struct
{
  guint64 serial; /* of the space */
  const LuArch *arch;
  gboolean has_pending; /* a module was not opened yet */
  guint n;
  guint64 at;                            /* of `mappings` in all that the cache ever gave out */
  LuViewMapping *mappings;               /* borrowed from the cache, sorted */
  const LuViewMapping *last, *before;    /* found last and before that; not NULL if n > 0 */
  guint16 hints[1 << LU_VIEW_HINT_BITS]; /* by address: the mapping found there last */
  guint64 regions; /* a bit for each region of 16 MiB (modulo 64) that a mapping is in */
} LuSpaceView;

typedef struct _LuSpaceCache LuSpaceCache;

LuSpaceCache *lu_space_cache_new (void);
void lu_space_cache_free (LuSpaceCache *self);

/* The view of a space; borrowed, good until the next call. NULL: it has too many mappings. Does not
 * allocate. */
LuSpaceView *lu_space_cache_get (LuSpaceCache *self, LuSpace *space, const LuArch *arch);
/* The mapping that holds the address, or NULL. */
const LuViewMapping *lu_space_view_search (LuSpaceView *self, guint64 address);

/* Start is not above end; one branch, as nobody can foresee which words are addresses of code. */
static inline gboolean
lu_view_mapping_has (const LuViewMapping *self, guint64 address)
{
  return address - self->base.start < self->base.end - self->base.start;
}

#define LU_VIEW_REGION_SHIFT 24

/* Most words of a stack that are asked about are no addresses of code. */
static inline guint
lu_view_region_of (guint64 address)
{
  return address >> LU_VIEW_REGION_SHIFT & 63;
}

/* FALSE: no mapping holds the address. */
static inline gboolean
lu_space_view_may_have (const LuSpaceView *self, guint64 address)
{
  return (self->regions >> lu_view_region_of (address) & 1) != 0;
}

/* Walks alternate between two mappings, a program and a library. */
static inline const LuViewMapping *
lu_space_view_find (LuSpaceView *self, guint64 address)
{
  const LuViewMapping *before = self->before;

  if (G_UNLIKELY (self->n == 0))
    return NULL;
  if (G_LIKELY (lu_view_mapping_has (self->last, address)))
    return self->last;
  if (!lu_view_mapping_has (before, address))
    return lu_space_view_search (self, address);
  self->before = self->last;
  return self->last = before;
}
