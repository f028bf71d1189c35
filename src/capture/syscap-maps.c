/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-maps.c - the MAP frames of one pid; see syscap-maps.h.
 *
 * `current` is the table that the viewer should have. `written` is what the file makes of it: the
 * largest end for each start address of a frame. Both are sorted arrays; a process has tens to
 * hundreds of executable mappings. Mappings rarely cover each other; until one does, the frames in
 * the file are the current mappings, and `written` is NULL. */

#include "syscap-maps.h"

#include <string.h>

/* Small programs map no more, so their array is allocated once. */
#define EXPECTED_MAPPINGS 6
/* The most parts of older mappings that are written beneath later ones, for one pid. */
#define MAX_LATE 256

typedef struct
{
  guint64 start, max_end;
} Written;

/* A part of an older mapping that was written beneath a later one. */
typedef struct
{
  guint64 start, end;
  guint64 time;
} Late;

struct _LuSyscapMaps
{
  LuSyscapMapping *current; /* owned, with references to the files; sorted by start, no overlap */
  guint n_current, n_allocated;
  GArray *written; /* of Written, sorted by start; NULL: the current ones */
  GArray *late;    /* of Late; NULL: none */
};

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
    lu_file_id_unref (self->current[i].file);
  g_free (self->current);
  if (self->written != NULL)
    g_array_unref (self->written);
  if (self->late != NULL)
    g_array_unref (self->late);
  g_free (self);
}

/* Returns the index of the first current mapping that ends after `address`. */
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

/* Returns the index of the first written start at or after `address`. */
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
  return a->module_id == b->module_id || (a->file != NULL && a->file == b->file);
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

static gboolean
emit (const LuSyscapMapsOutput *output, const LuSyscapMapping *frame, GError **error)
{
  return output->emit == NULL || output->emit (frame, output->user_data, error);
}

/* Writes one range as frames that the viewer keeps, see syscap-maps.h. */
static gboolean
emit_pieces (LuSyscapMaps *self, const LuSyscapMapping *range, LuSyscapMapsOutput *output,
             GError **error)
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
      if (!emit (output, &piece, error))
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
  part.file = lu_file_id_ref (mapping->file);
  return part;
}

/* Emits the remainder of an older mapping as a frame of its own. */
static gboolean
emit_remainder (LuSyscapMaps *self, const LuSyscapMapping *remainder, guint64 time,
                LuSyscapMapsOutput *output, GError **error)
{
  LuSyscapMapping frame = *remainder;

  frame.time = time;
  return emit_pieces (self, &frame, output, error);
}

/* Replaces `n_old` mappings from `first` on by `n_new` new ones, whose references it takes. */
static void
replace (LuSyscapMaps *self, guint first, guint n_old, const LuSyscapMapping *new, guint n_new)
{
  for (guint i = first; i < first + n_old; i++)
    lu_file_id_unref (self->current[i].file);
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

/* Makes `written` a table of its own. */
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

/* Puts `top` on all mappings that it covers. */
static gboolean
put (LuSyscapMaps *self, const LuSyscapMapping *top, LuSyscapMapsOutput *output, GError **error)
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
        output->has_shadowed = TRUE;
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
    ok = i == top_index ? emit_pieces (self, top, output, error)
                        : emit_remainder (self, &parts[i], top->time, output, error);
  return ok;
}

/* Returns whether nothing is or was mapped at the addresses, and the index to insert at. */
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

/* Returns the end of the part of `mapping` from `at` on that no later mapping covers, and in *cover
 * a copy of the later one that begins there, without a reference; its end is 0 if there is none. */
static guint64
find_free_end (const LuSyscapMaps *self, const LuSyscapMapping *mapping, guint64 at,
               LuSyscapMapping *cover)
{
  for (guint i = find_current (self, at); i < self->n_current; i++)
    {
      const LuSyscapMapping *old = &self->current[i];

      if (old->start >= mapping->end)
        break;
      if (old->time > mapping->time)
        {
          *cover = *old;
          return MAX (old->start, at);
        }
    }
  *cover = (LuSyscapMapping){ 0 };
  return mapping->end;
}

/* Returns FALSE if it was noted before, or if there are too many. */
static gboolean
note_late (LuSyscapMaps *self, const LuSyscapMapping *part, LuSyscapMapsOutput *output)
{
  const Late late = { part->start, part->end, part->time };

  if (self->late == NULL)
    self->late = g_array_new (FALSE, FALSE, sizeof late);
  for (guint i = 0; i < self->late->len; i++)
    if (memcmp (&g_array_index (self->late, Late, i), &late, sizeof late) == 0)
      return FALSE;
  if (self->late->len >= MAX_LATE)
    {
      output->has_dropped = TRUE;
      return FALSE;
    }
  g_array_append_val (self->late, late);
  return TRUE;
}

/* Writes a part of a mapping that `cover`, a later one, covers: readers that look at times need it
 * for samples from before. The frames of `cover` around it and above it are written again, because
 * the viewer drops one that reaches past the start of another. */
static gboolean
write_beneath (LuSyscapMaps *self, const LuSyscapMapping *part, const LuSyscapMapping *cover,
               LuSyscapMapsOutput *output, GError **error)
{
  const guint64 cuts[] = { cover->start, part->start, part->end, cover->end };

  if (is_same_file (part, cover) || !note_late (self, part, output))
    return TRUE;
  separate_written (self);
  output->has_shadowed = TRUE;
  if (!emit (output, part, error))
    return FALSE;
  note_written (self, part->start, part->end);
  for (guint i = 0; i + 1 < G_N_ELEMENTS (cuts); i++)
    {
      LuSyscapMapping again = *cover;

      again.start = cuts[i];
      again.end = cuts[i + 1];
      again.file_offset += cuts[i] - cover->start;
      if (again.start < again.end && !emit_pieces (self, &again, output, error))
        return FALSE;
    }
  return TRUE;
}

/* Puts the parts of a mapping that no later mapping covers over what is there, and the others
 * beneath. */
static gboolean
put_free_parts (LuSyscapMaps *self, const LuSyscapMapping *mapping, LuSyscapMapsOutput *output,
                GError **error)
{
  guint64 at = mapping->start;

  while (at < mapping->end)
    {
      LuSyscapMapping part = *mapping, cover;

      part.start = at;
      part.end = find_free_end (self, mapping, at, &cover);
      part.file_offset += at - mapping->start;
      if (at < part.end && !lu_syscap_maps_has (self, &part) && !put (self, &part, output, error))
        return FALSE;
      at = part.end;
      if (cover.end == 0)
        continue;
      part.start = at;
      part.end = MIN (cover.end, mapping->end);
      part.file_offset = mapping->file_offset + (at - mapping->start);
      if (!write_beneath (self, &part, &cover, output, error))
        return FALSE;
      at = part.end;
    }
  return TRUE;
}

gboolean
lu_syscap_maps_add (LuSyscapMaps *self, const LuSyscapMapping *mapping, LuSyscapMapsOutput *output,
                    GError **error)
{
  guint place;

  if (mapping->start >= mapping->end || lu_syscap_maps_has (self, mapping))
    return TRUE;
  if (n_written (self) >= LU_SYSCAP_MAPS_MAX)
    {
      output->has_dropped = TRUE;
      return TRUE;
    }
  if (has_place (self, mapping, &place))
    {
      LuSyscapMapping copy = part_of (mapping, mapping->start, mapping->end);

      replace (self, place, 0, &copy, 1);
      return emit (output, mapping, error);
    }
  return put_free_parts (self, mapping, output, error);
}

void
lu_syscap_maps_foreach (const LuSyscapMaps *self, LuSyscapMapsEachFunc each, gpointer user_data)
{
  for (guint i = 0; i < self->n_current; i++)
    if (!each (&self->current[i], user_data))
      return;
}
