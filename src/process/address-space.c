/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* address-space.c - immutable versions of an address space; see address-space.h.
 *
 * One allocation per version: a header and the sorted mappings. Only executable mappings are kept,
 * a handful to a few hundred, so copying them costs little compared with the mmap() in the process.
 */

#include "address-space.h"

/* Enough for small programs, so that a new address space is allocated only once. */
#define ROOM_MIN 8

struct _LuAddressSpace
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

static LuAddressSpace *
alloc (guint n_mappings)
{
  LuAddressSpace *self = g_malloc (sizeof *self + n_mappings * sizeof (LuMapping));

  atomic_init (&self->ref_count, 1);
  self->n_mappings = 0;
  self->n_allocated = n_mappings;
  self->serial = next_serial ();
  return self;
}

/* The empty address space is shared, because every exec begins with it; it is never freed. */
LuAddressSpace *
lu_address_space_new (void)
{
  static gsize empty;

  if (g_once_init_enter (&empty))
    g_once_init_leave (&empty, (gsize) alloc (0));
  return lu_address_space_ref ((LuAddressSpace *) empty);
}

LuAddressSpace *
lu_address_space_ref (LuAddressSpace *self)
{
  atomic_fetch_add_explicit (&self->ref_count, 1, memory_order_relaxed);
  return self;
}

void
lu_address_space_unref (LuAddressSpace *self)
{
  if (self == NULL || atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) != 1)
    return;
  for (guint i = 0; i < self->n_mappings; i++)
    lu_module_unref (self->mappings[i].module);
  g_free (self);
}

/* Where copied code is mapped again, it may be other code. */
static gboolean
contains_equal (LuAddressSpace *self, const LuMapping *mapping)
{
  const LuMapping *found = lu_address_space_find (self, mapping->start);

  return found != NULL && found->start == mapping->start && found->end == mapping->end
         && found->file_offset == mapping->file_offset && found->module == mapping->module
         && lu_module_key (mapping->module)->kind != LU_MODULE_COPIED;
}

/* Returns the first mapping that ends above the address. */
static guint
first_above (const LuAddressSpace *self, guint64 address)
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

/* Makes what replaces the mappings [first, last) once `mapping` covers them: up to three pieces,
 * each with a reference to its module. */
static guint
make_pieces (const LuAddressSpace *self, guint first, guint last, const LuMapping *mapping,
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
is_unshared (const LuAddressSpace *self)
{
  return atomic_load_explicit (&self->ref_count, memory_order_acquire) == 1;
}

static LuAddressSpace *
reserve (LuAddressSpace *self, guint n_mappings)
{
  if (n_mappings <= self->n_allocated)
    return self;
  self = g_realloc (self, sizeof *self + 2 * (gsize) n_mappings * sizeof (LuMapping));
  self->n_allocated = 2 * n_mappings;
  return self;
}

/* Replaces the `n_old` mappings from `first` on by `n_new` new ones. The caller owns the
 * references.
 */
static LuAddressSpace *
replace (LuAddressSpace *self, guint first, guint n_old, const LuMapping *new, guint n_new)
{
  self = reserve (self, self->n_mappings - n_old + n_new);
  memmove (&self->mappings[first + n_new], &self->mappings[first + n_old],
           (self->n_mappings - first - n_old) * sizeof (LuMapping));
  memcpy (&self->mappings[first], new, n_new * sizeof *new);
  self->n_mappings += n_new - n_old;
  self->serial = next_serial ();
  return self;
}

/* Puts the mapping on top, in place. */
static LuAddressSpace *
cover (LuAddressSpace *self, const LuMapping *mapping)
{
  guint first = first_above (self, mapping->start), last = first, n_pieces;
  LuMapping pieces[3];

  while (last < self->n_mappings && self->mappings[last].start < mapping->end)
    last++;
  n_pieces = make_pieces (self, first, last, mapping, pieces);
  for (guint i = first; i < last; i++)
    lu_module_unref (self->mappings[i].module);
  return replace (self, first, last - first, pieces, n_pieces);
}

LuAddressSpace *
lu_address_space_take_with_mapping (LuAddressSpace *self, const LuMapping *mapping)
{
  LuAddressSpace *next;

  if (contains_equal (self, mapping))
    return self;
  if (is_unshared (self))
    return cover (self, mapping);
  next = alloc (MAX (self->n_mappings + 2, ROOM_MIN));
  memcpy (next->mappings, self->mappings, self->n_mappings * sizeof (LuMapping));
  next->n_mappings = self->n_mappings;
  for (guint i = 0; i < next->n_mappings; i++)
    lu_module_ref (next->mappings[i].module);
  lu_address_space_unref (self);
  return cover (next, mapping);
}

gboolean
lu_address_space_insert (LuAddressSpace **self, const LuMapping *mapping)
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
lu_address_space_mappings (const LuAddressSpace *self, guint *n_mappings)
{
  *n_mappings = self->n_mappings;
  return self->mappings;
}

const LuMapping *
lu_address_space_find (const LuAddressSpace *self, guint64 address)
{
  guint at = first_above (self, address);

  if (at < self->n_mappings && address >= self->mappings[at].start)
    return &self->mappings[at];
  return NULL;
}

gboolean
lu_address_space_has_hotspot (const LuAddressSpace *self)
{
  for (guint i = 0; i < self->n_mappings; i++)
    if (g_str_has_suffix (lu_module_path (self->mappings[i].module), "/libjvm.so"))
      return TRUE;
  return FALSE;
}

guint64
lu_address_space_serial (const LuAddressSpace *self)
{
  return self->serial;
}
