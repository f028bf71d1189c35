/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* address-space-cache.c - views of address spaces; see address-space-cache.h.
 *
 * The mappings of all views lie in one ring; a new view overwrites the oldest ones. Many small
 * address spaces fit, or a few large ones, and nothing is ever allocated. */

#include "address-space-cache.h"

#define N_VIEWS 256
/* The largest programs of a desktop have about 500 executable mappings. */
#define N_MAPPINGS 4096
/* 256 KiB: generated code comes in mappings of about 100 KiB. */
#define HINT_SHIFT 18

struct _LuAddressSpaceCache
{
  LuAddressSpaceView views[N_VIEWS];
  guint64 n_given; /* mappings so far */
  LuViewMapping mappings[N_MAPPINGS];
};

LuAddressSpaceCache *
lu_address_space_cache_new (void)
{
  return g_new0 (LuAddressSpaceCache, 1);
}

void
lu_address_space_cache_free (LuAddressSpaceCache *self)
{
  g_free (self);
}

/* Reserves contiguous room for the view's mappings. */
static void
give_room (LuAddressSpaceCache *self, LuAddressSpaceView *view)
{
  guint64 start = self->n_given % N_MAPPINGS;

  if (start + view->n > N_MAPPINGS)
    self->n_given += N_MAPPINGS - start;
  view->at = self->n_given;
  view->mappings = &self->mappings[self->n_given % N_MAPPINGS];
  self->n_given += view->n;
}

/* Returns whether the room has not been overwritten. */
static gboolean
has_room (const LuAddressSpaceCache *self, const LuAddressSpaceView *view)
{
  return self->n_given - view->at <= N_MAPPINGS;
}

static LuViewMapping
describe (const LuMapping *mapping, const LuArch *arch)
{
  LuViewMapping view = { .base = lu_dwfl_mapping_describe (mapping, arch) };
  const LuDwflMapping *base = &view.base;

  if (base->status == LU_STATUS_COMPLETE && base->end > base->start
      && base->start - base->bias < base->end - base->bias
      && lu_rule_cache_can_keep (base->module, base->end - base->bias))
    {
      view.start = base->start;
      view.size = base->end - base->start;
      view.to_key = lu_rule_cache_module_key (base->module) - base->bias;
    }
  return view;
}

static guint64
regions_of (const LuMapping *mapping)
{
  guint64 first = mapping->start >> LU_VIEW_REGION_SHIFT,
          last = (mapping->end - 1) >> LU_VIEW_REGION_SHIFT;
  guint64 regions = 0;

  if (last - first >= 63)
    return G_MAXUINT64;
  for (guint64 i = first; i <= last; i++)
    regions |= G_GUINT64_CONSTANT (1) << (i & 63);
  return regions;
}

static void
fill (LuAddressSpaceCache *self, LuAddressSpaceView *view, LuAddressSpace *space,
      const LuArch *arch)
{
  const LuMapping *mappings = lu_address_space_mappings (space, &view->n);

  give_room (self, view);
  view->serial = lu_address_space_serial (space);
  view->arch = arch;
  view->has_pending = FALSE;
  view->has_hotspot = lu_address_space_has_hotspot (space);
  view->regions = 0;
  view->last = view->before = view->mappings;
  memset (view->hints, 0, sizeof view->hints);
  for (guint i = 0; i < view->n; i++)
    {
      /* First, because another thread may open the module any time. */
      if (lu_module_is_pending (mappings[i].module))
        view->has_pending = TRUE;
      view->mappings[i] = describe (&mappings[i], arch);
      view->regions |= regions_of (&mappings[i]);
    }
}

LuAddressSpaceView *
lu_address_space_cache_get (LuAddressSpaceCache *self, LuAddressSpace *space, const LuArch *arch)
{
  guint64 serial = lu_address_space_serial (space);
  LuAddressSpaceView *view = &self->views[serial % N_VIEWS];

  if (view->arch != arch || view->serial != serial || view->has_pending || !has_room (self, view))
    {
      guint n;

      lu_address_space_mappings (space, &n);
      if (n > N_MAPPINGS)
        return NULL;
      fill (self, view, space, arch);
    }
  return view;
}

const LuViewMapping *
lu_address_space_view_search (LuAddressSpaceView *self, guint64 address)
{
  guint16 *hint = &self->hints[address >> HINT_SHIFT & ((1 << LU_VIEW_HINT_BITS) - 1)];
  guint low = 0, high = self->n;

  if (!lu_address_space_view_may_have (self, address))
    return NULL;
  if (G_LIKELY (*hint < high) && lu_view_mapping_has (&self->mappings[*hint], address))
    low = high = *hint;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->mappings[middle].base.end <= address)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == self->n || address < self->mappings[low].base.start)
    return NULL;
  *hint = (guint16) low;
  self->before = self->last;
  return self->last = &self->mappings[low];
}
