/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* space-cache.c - views of spaces; see space-cache.h. */

#include "unwind/space-cache.h"

#define N_VIEWS 64

struct _LuSpaceCache
{
  LuSpaceView views[N_VIEWS];
};

LuSpaceCache *
lu_space_cache_new (void)
{
  return g_new0 (LuSpaceCache, 1);
}

void
lu_space_cache_free (LuSpaceCache *self)
{
  for (guint i = 0; i < N_VIEWS; i++)
    g_free (self->views[i].mappings);
  g_free (self);
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

static void
fill (LuSpaceView *view, LuSpace *space, const LuArch *arch)
{
  guint n;
  const LuMapping *mappings = lu_space_mappings (space, &n);

  if (n > view->n_allocated)
    {
      view->n_allocated = n;
      view->mappings = g_renew (LuViewMapping, view->mappings, n);
    }
  view->serial = lu_space_serial (space);
  view->arch = arch;
  view->has_pending = FALSE;
  view->n = n;
  view->last = view->before = view->mappings;
  for (guint i = 0; i < n; i++)
    {
      /* Before the rest: another thread may open it any time. */
      if (lu_module_is_pending (mappings[i].module))
        view->has_pending = TRUE;
      view->mappings[i] = describe (&mappings[i], arch);
    }
}

LuSpaceView *
lu_space_cache_get (LuSpaceCache *self, LuSpace *space, const LuArch *arch)
{
  LuSpaceView *view = &self->views[lu_space_serial (space) % N_VIEWS];

  if (view->arch != arch || view->serial != lu_space_serial (space) || view->has_pending)
    fill (view, space, arch);
  return view;
}

const LuViewMapping *
lu_space_view_search (LuSpaceView *self, guint64 address)
{
  guint low = 0, high = self->n;

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
  self->before = self->last;
  return self->last = &self->mappings[low];
}
