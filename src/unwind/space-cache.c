/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* space-cache.c - views of spaces; see space-cache.h.
 *
 * The mappings of all views lie in one ring, one behind the other; a new view takes the place of
 * the oldest ones. So many small spaces fit, or some large ones, and nothing is ever allocated. */

#include "unwind/space-cache.h"

#include <string.h>

#define N_VIEWS 256
/* A desktop's largest programs have some 500 executable mappings. */
#define N_MAPPINGS 4096
/* Generated code comes in pieces of some 100 KiB, and programs of a third mapping are common. */
#define HINT_SHIFT 18

struct _LuSpaceCache
{
  LuSpaceView views[N_VIEWS];
  guint64 n_given; /* mappings so far */
  LuViewMapping mappings[N_MAPPINGS];
};

LuSpaceCache *
lu_space_cache_new (void)
{
  return g_new0 (LuSpaceCache, 1);
}

void
lu_space_cache_free (LuSpaceCache *self)
{
  g_free (self);
}

/* Room for the view's mappings, in one piece. */
static void
give_room (LuSpaceCache *self, LuSpaceView *view)
{
  guint64 start = self->n_given % N_MAPPINGS;

  if (start + view->n > N_MAPPINGS)
    self->n_given += N_MAPPINGS - start;
  view->at = self->n_given;
  view->mappings = &self->mappings[self->n_given % N_MAPPINGS];
  self->n_given += view->n;
}

/* Nobody has taken its room since. */
static gboolean
has_room (const LuSpaceCache *self, const LuSpaceView *view)
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
fill (LuSpaceCache *self, LuSpaceView *view, LuSpace *space, const LuArch *arch)
{
  const LuMapping *mappings = lu_space_mappings (space, &view->n);

  give_room (self, view);
  view->serial = lu_space_serial (space);
  view->arch = arch;
  view->has_pending = FALSE;
  view->regions = 0;
  view->last = view->before = view->mappings;
  memset (view->hints, 0, sizeof view->hints);
  for (guint i = 0; i < view->n; i++)
    {
      /* Before the rest: another thread may open it any time. */
      if (lu_module_is_pending (mappings[i].module))
        view->has_pending = TRUE;
      view->mappings[i] = describe (&mappings[i], arch);
      view->regions |= regions_of (&mappings[i]);
    }
}

LuSpaceView *
lu_space_cache_get (LuSpaceCache *self, LuSpace *space, const LuArch *arch)
{
  guint64 serial = lu_space_serial (space);
  LuSpaceView *view = &self->views[serial % N_VIEWS];

  if (view->arch != arch || view->serial != serial || view->has_pending || !has_room (self, view))
    {
      guint n;

      lu_space_mappings (space, &n);
      if (n > N_MAPPINGS)
        return NULL;
      fill (self, view, space, arch);
    }
  return view;
}

const LuViewMapping *
lu_space_view_search (LuSpaceView *self, guint64 address)
{
  guint16 *hint = &self->hints[address >> HINT_SHIFT & ((1 << LU_VIEW_HINT_BITS) - 1)];
  guint low = 0, high = self->n;

  if (!lu_space_view_may_have (self, address))
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
