/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-events.h - the events that a perf.data file describes, found by their ids.
 *
 * Private to the perf.data reader. Events and ids beyond the limits are dropped; their records then
 * belong to no event. */

#pragma once

#include "base/cursor.h"
#include "input/record.h"

#include <string.h>

#define LU_PERF_MAX_EVENTS 4096u
#define LU_PERF_MAX_IDS    (1u << 18) /* events x CPUs; 4 MiB */

#define LU_PERF_ATTR_SIZE_MIN PERF_ATTR_SIZE_VER0

/* A recorded event. */
typedef struct
{
  struct perf_event_attr
      attr; /* fields newer than this build's header are cut off, missing ones are zero */
  LuRecordLayout layout;
  char *name; /* perf's name for it; NULL: unknown */
} LuPerfEvent;

typedef struct
{
  GPtrArray *events; /* array of LuPerfEvent, in the order of the file */
  GArray *ids;       /* id and event, sorted unless has_changed */
  gboolean has_changed;
} LuPerfEvents;

void lu_perf_events_init (LuPerfEvents *self);
void lu_perf_events_clear (LuPerfEvents *self);

/* Returns how many more ids fit. */
guint lu_perf_events_get_room (const LuPerfEvents *self);

/* Sorts the ids. Call it after additions, before the next find; additions come in long series. */
void lu_perf_events_sort (LuPerfEvents *self);

static inline const LuPerfEvent *
lu_perf_events_get (const LuPerfEvents *self, guint index)
{
  return (const LuPerfEvent *) g_ptr_array_index (self->events, index);
}

/* Returns whether the kernel walks user callchains later (defer_callchain), or writes them with
 * this event (defer_output), bits 38 and 39 of the flags; Linux 6.19. */
static inline gboolean
lu_perf_event_defers_callchains (const LuPerfEvent *self)
{
  guint64 flags;

  memcpy (&flags, (const guint8 *) &self->attr.read_format + sizeof flags, sizeof flags);
  return (flags >> 38 & 3) != 0;
}

/* Returns NULL if no event has this id. */
const LuPerfEvent *lu_perf_events_find (const LuPerfEvents *self, guint64 id);

/* Adds an event with an attr of `size` bytes, the size its writer used, and all u64 ids that are
 * left in `ids`. */
void lu_perf_events_add (LuPerfEvents *self, const guint8 *attr, gsize size, LuCursor *ids);

/* Names the events in their order; `names` holds char *. */
void lu_perf_events_set_names (LuPerfEvents *self, const GPtrArray *names);
