/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lane-reader.c - the two passes of a round over the lanes; see lane-reader.h. */

#include "input/lane-reader.h"

#include <poll.h>

/* A per-task event whose task has ended is readable for ever: look at such lanes this often. */
#define HUNG_UP_MS 20

/* Samples, and what a BPF program has written, may be in one ring. Their trailers look alike, so
 * only samples have to be told apart. */
static const LuRecordLayout *
layout_of (const LuLanes *lanes, const LuLane *lane, const LuRecordLayout *layout,
           gconstpointer record, gsize size)
{
  guint64 id;

  if (lane->output_id == 0
      || ((const struct perf_event_header *) record)->type != PERF_RECORD_SAMPLE
      || !lu_record_event_id (&lanes->output_layout, record, size, &id) || id != lane->output_id)
    return layout;
  return &lanes->output_layout;
}

/* A sample that was decoded when the one before it was delivered. */
typedef struct
{
  gconstpointer record; /* NULL: there is none */
  LuEvent event;
} Ahead;

/* Decodes the oldest unread record of a lane before its head. `ahead`: it may have been. */
static gboolean
next_event (LuLanes *self, LuLane *lane, const LuRecordLayout *layout, const Ahead *ahead,
            LuSourceStats *stats, LuEvent *event)
{
  gconstpointer record;
  gsize size;
  gboolean corrupt;

  while ((record = lu_ring_peek (&lane->ring, lane->head, &size, &corrupt)) != NULL || corrupt)
    {
      if (!corrupt && ahead != NULL && ahead->record == record)
        {
          *event = ahead->event;
          return TRUE;
        }
      if (!corrupt
          && lu_record_decode (layout_of (self, lane, layout, record, size), record, size, event))
        return TRUE;
      stats->malformed++;
      if (!corrupt)
        lu_ring_consume (&lane->ring);
    }
  return FALSE;
}

/* The lane whose oldest record is the oldest of all. Each is decoded once, and kept until it is
 * that.
 */
static LuLane *
oldest_sideband (LuLanes *self, const LuRecordLayout *layout, guint64 until, LuSourceStats *stats)
{
  LuLane *oldest = NULL;

  for (guint i = 0; i < self->lanes->len; i++)
    {
      LuLane *lane = lu_lanes_get (self, i);

      if (!lane->has_next)
        lane->has_next = next_event (self, lane, layout, NULL, stats, &lane->next);
      if (lane->has_next && lane->next.time <= until
          && (oldest == NULL || lane->next.time < oldest->next.time))
        oldest = lane;
    }
  return oldest;
}

gboolean
lu_lanes_drain_sideband (LuLanes *self, const LuRecordLayout *layout, guint64 until,
                         LuSourceStats *stats, LuEventFunc func, gpointer user_data)
{
  LuLane *lane;
  gboolean any = FALSE;

  /* What was decoded before may be gone. */
  for (guint i = 0; i < self->lanes->len; i++)
    lu_lanes_get (self, i)->has_next = FALSE;
  while ((lane = oldest_sideband (self, layout, until, stats)) != NULL)
    {
      stats->records++;
      if (lane->next.kind == LU_EVENT_LOST)
        stats->lost_sideband += lane->next.lost.count;
      func (&lane->next, user_data);
      lu_ring_consume (&lane->ring);
      lane->has_next = FALSE;
      any = TRUE;
    }
  return any;
}

static gboolean
is_sideband (gconstpointer record)
{
  switch (((const struct perf_event_header *) record)->type)
    {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_NAMESPACES:
      return TRUE;
    default:
      return FALSE;
    }
}

/* What somebody else has read from another ring: not worth being decoded. */
static void
pass_over_sideband (LuLane *lane, LuSourceStats *stats)
{
  gconstpointer record;
  gsize size;
  gboolean corrupt;

  while ((record = lu_ring_peek (&lane->ring, lane->head, &size, &corrupt)) != NULL
         && is_sideband (record))
    {
      lu_ring_expect (&lane->ring, lane->head, 0);
      stats->records++;
      lu_ring_consume (&lane->ring);
    }
  stats->malformed += corrupt;
}

/* The sample behind this one, if that is what comes next: what its walk will read can be fetched
 * while this one is walked. By then its own fields are there, since they are fetched one sample
 * earlier still. */
static void
look_ahead (const LuLanes *self, const LuLane *lane, const LuRecordLayout *layout, LuEvent *event,
            Ahead *ahead)
{
  gsize size = 0;
  gconstpointer record =
      event->kind == LU_EVENT_SAMPLE ? lu_ring_peek_next (&lane->ring, lane->head, &size) : NULL;

  ahead->record = NULL;
  if (record != NULL && ((const struct perf_event_header *) record)->type == PERF_RECORD_SAMPLE
      && lu_record_decode (layout_of (self, lane, layout, record, size), record, size,
                           &ahead->event)
      && ahead->event.kind == LU_EVENT_SAMPLE)
    {
      ahead->record = record;
      event->next = &ahead->event;
    }
  lu_ring_expect (&lane->ring, lane->head, ahead->record != NULL ? size : 0);
}

static gboolean
drain_samples (LuLanes *self, LuLane *lane, const LuRecordLayout *layout, gboolean skip_sideband,
               LuSourceStats *stats, LuEventFunc func, gpointer user_data)
{
  LuEvent event;
  Ahead ahead = { 0 };

  if (skip_sideband)
    pass_over_sideband (lane, stats);
  while (next_event (self, lane, layout, &ahead, stats, &event))
    {
      look_ahead (self, lane, layout, &event, &ahead);
      if (event.cpu < 0)
        event.cpu = lane->cpu;
      if (event.kind == LU_EVENT_LOST)
        lane->lost_records += event.lost.count;
      if (event.kind == LU_EVENT_THROTTLE)
        stats->throttled++;
      if (func (&event, user_data) == LU_VERDICT_LATER)
        return FALSE;
      stats->records++;
      if (event.kind == LU_EVENT_SAMPLE)
        stats->sample_bytes += lane->ring.record_size;
      if (event.kind == LU_EVENT_WALKED)
        stats->walked_bytes += lane->ring.record_size;
      lu_ring_consume (&lane->ring);
      if (skip_sideband)
        pass_over_sideband (lane, stats);
    }
  return TRUE;
}

gboolean
lu_lanes_drain_samples (LuLanes *self, const LuRecordLayout *layout, gboolean skip_sideband,
                        LuSourceStats *stats, LuEventFunc func, gpointer user_data)
{
  for (guint i = 0; i < self->lanes->len; i++)
    if (!drain_samples (self, lu_lanes_get (self, i), layout, skip_sideband, stats, func,
                        user_data))
      return FALSE;
  return TRUE;
}

static void
add_poll_fds (GArray *poll_fds, const LuLanes *lanes)
{
  for (guint i = 0; i < lanes->lanes->len; i++)
    {
      const LuLane *lane = lu_lanes_get (lanes, i);
      struct pollfd entry = { .fd = lane->fd, .events = POLLIN };

      if (!lane->is_file)
        g_array_append_val (poll_fds, entry);
    }
}

void
lu_lanes_wait (LuLanes *const *lanes, guint n_lanes, GArray *poll_fds, int wake_fd, int timeout_ms)
{
  struct pollfd wake = { .fd = wake_fd, .events = POLLIN };

  g_array_set_size (poll_fds, 0);
  g_array_append_val (poll_fds, wake);
  for (guint i = 0; i < n_lanes; i++)
    add_poll_fds (poll_fds, lanes[i]);
  if (poll ((struct pollfd *) (void *) poll_fds->data, poll_fds->len, timeout_ms) <= 0)
    return;
  for (guint i = 1; i < poll_fds->len; i++)
    if (g_array_index (poll_fds, struct pollfd, i).revents & (POLLHUP | POLLERR))
      {
        poll (&wake, 1, MIN (timeout_ms, HUNG_UP_MS));
        break;
      }
}
