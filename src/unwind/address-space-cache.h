/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* address-space-cache.h - the mappings of address spaces, with what unwinding needs of each.
 *
 * Used by the table engine. The key is the serial number of an address space, so an entry never
 * becomes wrong. It borrows the modules and is used only while its address space exists. Belongs to
 * one thread. */

#pragma once

#include "dwfl-address-space.h"
#include "rule-cache.h"

typedef struct
{
  guint64 start, size; /* size 0: the rule cache cannot hold its rules */
  guint64 to_key;      /* run-time address + to_key is the key of the rule cache */
  LuDwflMapping base;  /* without a module of libdwfl */
} LuViewMapping;

#define LU_VIEW_HINT_BITS 5

typedef struct
{
  guint64 serial; /* of the address space */
  const LuArch *arch;
  gboolean has_pending; /* a module was not opened yet */
  gboolean has_hotspot; /* lu_address_space_has_hotspot() */
  guint n;
  guint64 at;              /* position of `mappings` among all that the cache has given out */
  LuViewMapping *mappings; /* borrowed from the cache, sorted */
  const LuViewMapping *last, *before;    /* the last two found; not NULL if n > 0 */
  guint16 hints[1 << LU_VIEW_HINT_BITS]; /* by address: the mapping found last */
  guint64 regions; /* a bit for each region of 16 MiB (modulo 64) that a mapping is in */
} LuAddressSpaceView;

typedef struct _LuAddressSpaceCache LuAddressSpaceCache;

LuAddressSpaceCache *lu_address_space_cache_new (void);
void lu_address_space_cache_free (LuAddressSpaceCache *self);

/* Returns the view of an address space, borrowed until the next call; NULL if there are too many
 * mappings. Does not allocate. */
LuAddressSpaceView *lu_address_space_cache_get (LuAddressSpaceCache *self, LuAddressSpace *space,
                                                const LuArch *arch);
/* Returns the mapping that holds the address, or NULL. */
const LuViewMapping *lu_address_space_view_search (LuAddressSpaceView *self, guint64 address);

/* One comparison, because it is not predictable which words are code addresses. */
static inline gboolean
lu_view_mapping_has (const LuViewMapping *self, guint64 address)
{
  return address - self->base.start < self->base.end - self->base.start;
}

#define LU_VIEW_REGION_SHIFT 24

/* Most stack words that are looked up are not code addresses; a region without code excludes them
 * fast. */
static inline guint
lu_view_region_of (guint64 address)
{
  return address >> LU_VIEW_REGION_SHIFT & 63;
}

/* FALSE: no mapping holds the address. */
static inline gboolean
lu_address_space_view_may_have (const LuAddressSpaceView *self, guint64 address)
{
  return (self->regions >> lu_view_region_of (address) & 1) != 0;
}

/* Like lu_address_space_view_search(), but tries the last two mappings first: walks alternate
 * between program and library. */
static inline const LuViewMapping *
lu_address_space_view_find (LuAddressSpaceView *self, guint64 address)
{
  const LuViewMapping *before = self->before;

  if (G_UNLIKELY (self->n == 0))
    return NULL;
  if (G_LIKELY (lu_view_mapping_has (self->last, address)))
    return self->last;
  if (!lu_view_mapping_has (before, address))
    return lu_address_space_view_search (self, address);
  self->before = self->last;
  return self->last = before;
}
