/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-events.c - a list of events and a sorted array of their ids; see perf-events.h. */

#include "input/perf-events.h"

typedef struct
{
  guint64 id;
  const LuPerfEvent *event;
} EventId;

static void
free_event (gpointer data)
{
  LuPerfEvent *event = data;

  g_free (event->name);
  g_free (event);
}

void
lu_perf_events_init (LuPerfEvents *self)
{
  self->events = g_ptr_array_new_with_free_func (free_event);
  self->ids = g_array_new (FALSE, FALSE, sizeof (EventId));
  self->has_changed = FALSE;
}

void
lu_perf_events_clear (LuPerfEvents *self)
{
  g_clear_pointer (&self->events, g_ptr_array_unref);
  g_clear_pointer (&self->ids, g_array_unref);
}

guint
lu_perf_events_get_room (const LuPerfEvents *self)
{
  return LU_PERF_MAX_IDS - self->ids->len;
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  guint64 left = ((const EventId *) a)->id, right = ((const EventId *) b)->id;

  return (left > right) - (left < right);
}

void
lu_perf_events_sort (LuPerfEvents *self)
{
  if (self->has_changed)
    g_array_sort (self->ids, compare_ids);
  self->has_changed = FALSE;
}

const LuPerfEvent *
lu_perf_events_find (const LuPerfEvents *self, guint64 id)
{
  guint at;

  if (!g_array_binary_search (self->ids, &(EventId){ .id = id }, compare_ids, &at))
    return NULL;
  return g_array_index (self->ids, EventId, at).event;
}

void
lu_perf_events_add (LuPerfEvents *self, const guint8 *attr, gsize size, LuCursor *ids)
{
  LuPerfEvent *event;

  if (self->events->len >= LU_PERF_MAX_EVENTS)
    return;
  event = g_new0 (LuPerfEvent, 1);
  memcpy (&event->attr, attr, MIN (size, sizeof event->attr));
  lu_record_layout_init (&event->layout, &event->attr);
  g_ptr_array_add (self->events, event);
  while (lu_cursor_left (ids) >= 8 && lu_perf_events_get_room (self) > 0)
    {
      EventId id = { .id = lu_cursor_u64 (ids), .event = event };

      g_array_append_val (self->ids, id);
      self->has_changed = TRUE;
    }
}

void
lu_perf_events_set_names (LuPerfEvents *self, const GPtrArray *names)
{
  for (guint i = 0; i < self->events->len && i < names->len; i++)
    {
      LuPerfEvent *event = g_ptr_array_index (self->events, i);

      g_free (event->name);
      event->name = g_strdup (g_ptr_array_index (names, i));
    }
}
