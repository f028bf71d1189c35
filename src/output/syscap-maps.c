/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-maps.c - the MAP frames of one pid; see syscap-maps.h.
 *
 * `current` is the table we want the viewer to have, `written` is what makes it have another: for
 * each start address of a frame in the file the largest end. Both are sorted arrays; a process has
 * tens to hundreds of executable mappings. As long as none covers another, which is nearly always,
 * the frames in the file are the current mappings, and nothing else is kept of them. */

#include "output/syscap-maps.h"

#include <string.h>

/* Small programs map no more, so that room for them is allocated once. */
#define EXPECTED_MAPPINGS 6

typedef struct
{
  guint64 start, max_end;
} Written;

struct _LuSyscapMaps
{
  LuSyscapMapping *current; /* owned, with the names; sorted by start, no overlap */
  guint n_current, n_allocated;
  GArray *written; /* of Written, sorted by start; NULL: the current ones */
};

typedef struct
{
  LuSyscapMapsFunc func;
  gpointer user_data;
} Emit;

LuSyscapMaps *
lu_syscap_maps_new (void)
{
  LuSyscapMaps *self = g_new (LuSyscapMaps, 1);

  *self = (LuSyscapMaps){ .current = g_new (LuSyscapMapping, EXPECTED_MAPPINGS),
                          .n_allocated = EXPECTED_MAPPINGS };
  return self;
}

void
lu_syscap_maps_free (LuSyscapMaps *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->n_current; i++)
    g_ref_string_release (self->current[i].name);
  g_free (self->current);
  if (self->written != NULL)
    g_array_unref (self->written);
  g_free (self);
}

/* Index of the first current mapping that ends after `address`. */
static guint
find_current (const LuSyscapMaps *self, guint64 address)
{
  guint low = 0, high = self->n_current;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (self->current[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Index of the first written start at or after `address`. */
static guint
find_written (const LuSyscapMaps *self, guint64 address)
{
  guint low = 0, high = self->written->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->written, Written, middle).start < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gboolean
is_same_file (const LuSyscapMapping *a, const LuSyscapMapping *b)
{
  if (a->start - a->file_offset != b->start - b->file_offset)
    return FALSE;
  return a->module_id == b->module_id
         || (a->name != NULL && b->name != NULL && strcmp (a->name, b->name) == 0);
}

gboolean
lu_syscap_maps_has (const LuSyscapMaps *self, const LuSyscapMapping *mapping)
{
  guint64 reached = mapping->start;

  for (guint i = find_current (self, reached); reached < mapping->end; i++)
    {
      const LuSyscapMapping *old;

      if (i >= self->n_current)
        return FALSE;
      old = &self->current[i];
      if (old->start > reached || !is_same_file (old, mapping))
        return FALSE;
      reached = old->end;
    }
  return TRUE;
}

const LuSyscapMapping *
lu_syscap_maps_find (const LuSyscapMaps *self, guint64 address)
{
  guint i = find_current (self, address);
  const LuSyscapMapping *found;

  if (i >= self->n_current)
    return NULL;
  found = &self->current[i];
  return found->start <= address ? found : NULL;
}

static void
note_written (LuSyscapMaps *self, guint64 start, guint64 end)
{
  guint i = find_written (self, start);

  if (i < self->written->len && g_array_index (self->written, Written, i).start == start)
    {
      Written *old = &g_array_index (self->written, Written, i);

      old->max_end = MAX (old->max_end, end);
      return;
    }
  g_array_insert_val (self->written, i, ((Written){ start, end }));
}

/* Writes one range as frames that the viewer keeps, see syscap-maps.h. */
static gboolean
emit_pieces (LuSyscapMaps *self, const LuSyscapMapping *range, const Emit *emit, GError **error)
{
  LuSyscapMapping piece = *range;
  guint64 at = range->start;

  while (at < range->end)
    {
      guint i = find_written (self, at);
      guint64 longest = 0;

      if (i < self->written->len && g_array_index (self->written, Written, i).start == at)
        longest = g_array_index (self->written, Written, i++).max_end;
      piece.start = at;
      piece.end = range->end;
      if (i < self->written->len)
        piece.end = MIN (piece.end, g_array_index (self->written, Written, i).start);
      if (longest > piece.end)
        {
          at++;
          continue;
        }
      piece.file_offset = range->file_offset + (at - range->start);
      if (!emit->func (&piece, emit->user_data, error))
        return FALSE;
      note_written (self, piece.start, piece.end);
      at = piece.end;
    }
  return TRUE;
}

static LuSyscapMapping
part_of (const LuSyscapMapping *mapping, guint64 start, guint64 end)
{
  LuSyscapMapping part = *mapping;

  part.start = start;
  part.end = end;
  part.file_offset += start - mapping->start;
  part.name = g_ref_string_acquire (mapping->name);
  return part;
}

/* Emits a remainder of an older mapping: from now on it is a frame of its own. */
static gboolean
emit_remainder (LuSyscapMaps *self, const LuSyscapMapping *remainder, guint64 time,
                const Emit *emit, GError **error)
{
  LuSyscapMapping frame = *remainder;

  frame.time = time;
  return emit_pieces (self, &frame, emit, error);
}

/* Makes `n_new` mappings of the `n_old` from `first` on; takes their names. */
static void
replace (LuSyscapMaps *self, guint first, guint n_old, const LuSyscapMapping *new, guint n_new)
{
  for (guint i = first; i < first + n_old; i++)
    g_ref_string_release (self->current[i].name);
  if (self->n_current + n_new > self->n_allocated)
    {
      self->n_allocated = 2 * (self->n_current + n_new);
      self->current = g_renew (LuSyscapMapping, self->current, self->n_allocated);
    }
  memmove (&self->current[first + n_new], &self->current[first + n_old],
           (self->n_current - first - n_old) * sizeof *self->current);
  memcpy (&self->current[first], new, n_new * sizeof *new);
  self->n_current += n_new - n_old;
}

/* From now on they are not the same. */
static void
separate_written (LuSyscapMaps *self)
{
  if (self->written != NULL)
    return;
  self->written = g_array_sized_new (FALSE, FALSE, sizeof (Written), self->n_current + 1);
  for (guint i = 0; i < self->n_current; i++)
    {
      Written written = { self->current[i].start, self->current[i].end };

      g_array_append_val (self->written, written);
    }
}

/* Puts `top` over whatever is there. */
static gboolean
put (LuSyscapMaps *self, const LuSyscapMapping *top, const Emit *emit, gboolean *shadowed,
     GError **error)
{
  guint first = find_current (self, top->start);
  guint last = first;
  LuSyscapMapping parts[3];
  guint n_parts = 0;
  guint top_index;
  gboolean ok = TRUE;

  separate_written (self);
  for (; last < self->n_current; last++)
    {
      const LuSyscapMapping *old = &self->current[last];

      if (old->start >= top->end)
        break;
      if (!is_same_file (old, top))
        *shadowed = TRUE;
    }

  if (first < last)
    {
      const LuSyscapMapping *old = &self->current[first];

      if (old->start < top->start)
        parts[n_parts++] = part_of (old, old->start, top->start);
    }
  top_index = n_parts;
  parts[n_parts++] = part_of (top, top->start, top->end);
  if (first < last)
    {
      const LuSyscapMapping *old = &self->current[last - 1];

      if (old->end > top->end)
        parts[n_parts++] = part_of (old, top->end, old->end);
    }

  replace (self, first, last - first, parts, n_parts);
  for (guint i = 0; i < n_parts && ok; i++)
    ok = i == top_index ? emit_pieces (self, top, emit, error)
                        : emit_remainder (self, &parts[i], top->time, emit, error);
  return ok;
}

/* FALSE: something is in its place, or was. */
static gboolean
has_place (const LuSyscapMaps *self, const LuSyscapMapping *mapping, guint *place)
{
  *place = find_current (self, mapping->start);
  return self->written == NULL
         && (*place == self->n_current || self->current[*place].start >= mapping->end);
}

static guint
n_written (const LuSyscapMaps *self)
{
  return self->written != NULL ? self->written->len : self->n_current;
}

gboolean
lu_syscap_maps_add (LuSyscapMaps *self, const LuSyscapMapping *mapping, LuSyscapMapsFunc emit,
                    gpointer user_data, gboolean *shadowed, gboolean *dropped, GError **error)
{
  const Emit to = { emit, user_data };
  guint64 at = mapping->start;
  guint place;

  if (mapping->start >= mapping->end || lu_syscap_maps_has (self, mapping))
    return TRUE;
  if (n_written (self) >= LU_SYSCAP_MAPS_MAX)
    {
      *dropped = TRUE;
      return TRUE;
    }
  if (has_place (self, mapping, &place))
    {
      LuSyscapMapping copy = part_of (mapping, mapping->start, mapping->end);

      replace (self, place, 0, &copy, 1);
      return emit (mapping, user_data, error);
    }

  /* Of what a later mapping covers, only the gaps are ours. */
  while (at < mapping->end)
    {
      LuSyscapMapping free_part = *mapping;
      guint64 end = mapping->end, next = mapping->end;

      for (guint i = find_current (self, at); i < self->n_current; i++)
        {
          const LuSyscapMapping *old = &self->current[i];

          if (old->start >= mapping->end)
            break;
          if (old->time > mapping->time)
            {
              end = MAX (old->start, at);
              next = MIN (old->end, mapping->end);
              break;
            }
        }
      free_part.start = at;
      free_part.end = end;
      free_part.file_offset += at - mapping->start;
      if (at < end && !lu_syscap_maps_has (self, &free_part)
          && !put (self, &free_part, &to, shadowed, error))
        return FALSE;
      at = next;
    }
  return TRUE;
}

void
lu_syscap_maps_foreach (const LuSyscapMaps *self, LuSyscapMapsEachFunc each, gpointer user_data)
{
  for (guint i = 0; i < self->n_current; i++)
    if (!each (&self->current[i], user_data))
      return;
}
