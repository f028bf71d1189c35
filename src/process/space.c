/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* space.c - immutable versions of an address space; see space.h.
 *
 * One allocation per version: a header and the sorted mappings. Copying is cheap next to what a
 * mapping costs the process that makes it: executable mappings only, a handful to a few hundred. */

#include "process/space.h"

#include <stdatomic.h>
#include <string.h>

/* Room for what small programs map, so that a space that is being built is allocated once. */
#define ROOM_MIN 8

struct _LuSpace
{
  atomic_int ref_count;
  guint n_mappings, n_allocated;
  guint64 serial;
  LuMapping mappings[]; /* sorted by start, no overlap; each holds a reference to its module */
};

static guint64
next_serial (void)
{
  static atomic_ullong last;

  return atomic_fetch_add_explicit (&last, 1, memory_order_relaxed) + 1;
}

static LuSpace *
space_alloc (guint n_mappings)
{
  LuSpace *self = g_malloc (sizeof *self + n_mappings * sizeof (LuMapping));

  atomic_init (&self->ref_count, 1);
  self->n_mappings = 0;
  self->n_allocated = n_mappings;
  self->serial = next_serial ();
  return self;
}

/* Every exec begins with it; never freed. */
LuSpace *
lu_space_new (void)
{
  static gsize empty;

  if (g_once_init_enter (&empty))
    g_once_init_leave (&empty, (gsize) space_alloc (0));
  return lu_space_ref ((LuSpace *) empty);
}

LuSpace *
lu_space_ref (LuSpace *self)
{
  atomic_fetch_add_explicit (&self->ref_count, 1, memory_order_relaxed);
  return self;
}

void
lu_space_unref (LuSpace *self)
{
  if (self == NULL || atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) != 1)
    return;
  for (guint i = 0; i < self->n_mappings; i++)
    lu_module_unref (self->mappings[i].module);
  g_free (self);
}

static void
append (LuSpace *self, const LuMapping *mapping, guint64 start, guint64 end)
{
  LuMapping *copy = &self->mappings[self->n_mappings++];

  *copy = *mapping;
  copy->start = start;
  copy->end = end;
  copy->file_offset = mapping->file_offset + (start - mapping->start);
  lu_module_ref (copy->module);
}

static gboolean
contains_equal (LuSpace *self, const LuMapping *mapping)
{
  const LuMapping *found = lu_space_find (self, mapping->start);

  return found != NULL && found->start == mapping->start && found->end == mapping->end
         && found->file_offset == mapping->file_offset && found->module == mapping->module;
}

LuSpace *
lu_space_with_mapping (LuSpace *self, const LuMapping *mapping)
{
  LuSpace *next;
  gboolean placed = FALSE;

  if (contains_equal (self, mapping))
    return lu_space_ref (self);
  next = space_alloc (MAX (self->n_mappings + 2, ROOM_MIN));
  for (guint i = 0; i < self->n_mappings; i++)
    {
      const LuMapping *old = &self->mappings[i];

      if (old->start < mapping->start)
        append (next, old, old->start, MIN (old->end, mapping->start));
      if (!placed && old->end > mapping->start)
        {
          append (next, mapping, mapping->start, mapping->end);
          placed = TRUE;
        }
      if (old->end > mapping->end)
        append (next, old, MAX (old->start, mapping->end), old->end);
    }
  if (!placed)
    append (next, mapping, mapping->start, mapping->end);
  return next;
}

/* The first mapping that ends above the address. */
static guint
first_above (const LuSpace *self, guint64 address)
{
  guint low = 0, high = self->n_mappings;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->mappings[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* What stands in the place of the mappings [first, last) that `mapping` covers: up to three, each
 * with a reference. */
static guint
make_pieces (const LuSpace *self, guint first, guint last, const LuMapping *mapping,
             LuMapping pieces[3])
{
  const LuMapping *left = &self->mappings[first], *right = &self->mappings[last - (last > 0)];
  guint n = 0;

  if (first < last && left->start < mapping->start)
    {
      pieces[n] = *left;
      pieces[n++].end = mapping->start;
    }
  pieces[n++] = *mapping;
  if (first < last && right->end > mapping->end)
    {
      pieces[n] = *right;
      pieces[n].file_offset += mapping->end - right->start;
      pieces[n++].start = mapping->end;
    }
  for (guint i = 0; i < n; i++)
    lu_module_ref (pieces[i].module);
  return n;
}

static gboolean
is_unshared (const LuSpace *self)
{
  return atomic_load_explicit (&self->ref_count, memory_order_acquire) == 1;
}

static LuSpace *
reserve (LuSpace *self, guint n_mappings)
{
  if (n_mappings <= self->n_allocated)
    return self;
  self = g_realloc (self, sizeof *self + 2 * (gsize) n_mappings * sizeof (LuMapping));
  self->n_allocated = 2 * n_mappings;
  return self;
}

/* Makes `n_new` mappings of the `n_old` from `first` on. What they are is up to the caller. */
static LuSpace *
replace (LuSpace *self, guint first, guint n_old, const LuMapping *new, guint n_new)
{
  self = reserve (self, self->n_mappings + n_new);
  memmove (&self->mappings[first + n_new], &self->mappings[first + n_old],
           (self->n_mappings - first - n_old) * sizeof (LuMapping));
  memcpy (&self->mappings[first], new, n_new * sizeof *new);
  self->n_mappings += n_new - n_old;
  self->serial = next_serial ();
  return self;
}

LuSpace *
lu_space_take_with_mapping (LuSpace *self, const LuMapping *mapping)
{
  guint first = first_above (self, mapping->start), last = first, n_pieces;
  LuMapping pieces[3];

  if (!is_unshared (self))
    {
      LuSpace *next = lu_space_with_mapping (self, mapping);

      lu_space_unref (self);
      return next;
    }
  if (contains_equal (self, mapping))
    return self;
  while (last < self->n_mappings && self->mappings[last].start < mapping->end)
    last++;
  n_pieces = make_pieces (self, first, last, mapping, pieces);
  for (guint i = first; i < last; i++)
    lu_module_unref (self->mappings[i].module);
  return replace (self, first, last - first, pieces, n_pieces);
}

gboolean
lu_space_insert (LuSpace **self, const LuMapping *mapping)
{
  guint at = first_above (*self, mapping->start);

  if (!is_unshared (*self)
      || (at < (*self)->n_mappings && (*self)->mappings[at].start < mapping->end))
    return FALSE;
  lu_module_ref (mapping->module);
  *self = replace (*self, at, 0, mapping, 1);
  return TRUE;
}

const LuMapping *
lu_space_mappings (const LuSpace *self, guint *n_mappings)
{
  *n_mappings = self->n_mappings;
  return self->mappings;
}

const LuMapping *
lu_space_find (const LuSpace *self, guint64 address)
{
  guint low = 0, high = self->n_mappings;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (address >= self->mappings[middle].end)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < self->n_mappings && address >= self->mappings[low].start)
    return &self->mappings[low];
  return NULL;
}

guint64
lu_space_serial (const LuSpace *self)
{
  return self->serial;
}
