/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-events.h - the events that a perf.data file describes, found by their ids. Private to the
 * perf.data reader. Bounded: what is beyond the limits is left out, and its records then belong to
 * no event. */

#pragma once

#include "base/cursor.h"
#include "input/perf-data.h"

#define LU_PERF_MAX_EVENTS 4096u
#define LU_PERF_MAX_IDS    (1u << 18) /* events x CPUs; 4 MiB */

typedef struct
{
  GPtrArray *events; /* LuPerfEvent */
  GArray *ids;       /* id and event, sorted unless has_changed */
  gboolean has_changed;
} LuPerfEvents;

void lu_perf_events_init (LuPerfEvents *self);
void lu_perf_events_clear (LuPerfEvents *self);

guint lu_perf_events_get_n (const LuPerfEvents *self);
const LuPerfEvent *lu_perf_events_get (const LuPerfEvents *self, guint index);

/* How many more ids fit. */
guint lu_perf_events_get_room (const LuPerfEvents *self);

/* After additions, before the next find: not done at once because they come in long series. */
void lu_perf_events_sort (LuPerfEvents *self);

/* NULL if there is none with this id. */
const LuPerfEvent *lu_perf_events_find (const LuPerfEvents *self, guint64 id);

/* Adds an event with an attr of `size` bytes, as large as its writer knew it, and all u64 ids that
 * are left in `ids`. */
void lu_perf_events_add (LuPerfEvents *self, const guint8 *attr, gsize size, LuCursor *ids);

/* Names the events in their order; char * in `names`. */
void lu_perf_events_set_names (LuPerfEvents *self, const GPtrArray *names);
