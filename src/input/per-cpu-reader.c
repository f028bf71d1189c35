/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* per-cpu-reader.c - the two passes of a round over the rings; see per-cpu-reader.h. */

#include "per-cpu-reader.h"

#include <poll.h>

/* A per-task event whose task has exited stays readable forever; poll such events this often. */
#define HUNG_UP_MS 20

/* Samples and records of a BPF program may share a ring. Their trailers look alike, so only samples
 * have to be told apart. */
static const LuRecordLayout *
layout_of (const LuPerCpuEvents *events, const LuCpuEvents *cpu_events, gconstpointer record,
           gsize size)
{
  guint64 id;

  if (cpu_events->output_id == 0
      || ((const struct perf_event_header *) record)->type != PERF_RECORD_SAMPLE
      || !lu_record_event_id (&events->output_layout, record, size, &id)
      || id != cpu_events->output_id)
    return &events->layout;
  return &events->output_layout;
}

/* A sample that was decoded while the one before it was delivered. */
typedef struct
{
  gconstpointer record; /* NULL: none */
  LuEvent event;
} Ahead;

/* Decodes the oldest unread record before the head, or returns it from `ahead` if it was decoded
 * there. */
static gboolean
next_event (LuPerCpuEvents *self, LuCpuEvents *cpu_events, const LuRecordReceiver *receiver,
            const Ahead *ahead, LuEvent *event)
{
  gconstpointer record;
  gsize size;
  gboolean corrupt;

  while ((record = lu_ring_peek (&cpu_events->ring, cpu_events->head, &size, &corrupt)) != NULL
         || corrupt)
    {
      if (!corrupt && ahead != NULL && ahead->record == record)
        {
          *event = ahead->event;
          return TRUE;
        }
      if (!corrupt
          && lu_record_decode (layout_of (self, cpu_events, record, size), record, size, event))
        return TRUE;
      lu_count (receiver->counters, LU_COUNTER_MALFORMED);
      if (!corrupt)
        lu_ring_consume (&cpu_events->ring);
    }
  return FALSE;
}

/* Returns the CPU whose oldest record is the oldest of all. Each record is decoded once and kept
 * until it is delivered. */
static LuCpuEvents *
oldest_sideband (LuPerCpuEvents *self, const LuRecordReceiver *receiver, guint64 until)
{
  LuCpuEvents *oldest = NULL;

  for (guint i = 0; i < self->events->len; i++)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (self, i);

      if (!cpu_events->has_next)
        cpu_events->has_next = next_event (self, cpu_events, receiver, NULL, &cpu_events->next);
      if (cpu_events->has_next && cpu_events->next.time <= until
          && (oldest == NULL || cpu_events->next.time < oldest->next.time))
        oldest = cpu_events;
    }
  return oldest;
}

gboolean
lu_per_cpu_events_drain_sideband (LuPerCpuEvents *self, const LuRecordReceiver *receiver,
                                  guint64 until)
{
  LuCounters *counters = receiver->counters;
  LuCpuEvents *cpu_events;
  gboolean any = FALSE;

  /* Records that were decoded before may be gone. */
  for (guint i = 0; i < self->events->len; i++)
    lu_per_cpu_events_get (self, i)->has_next = FALSE;
  while ((cpu_events = oldest_sideband (self, receiver, until)) != NULL)
    {
      lu_count (counters, LU_COUNTER_RECORDS);
      if (cpu_events->next.kind == LU_EVENT_LOST)
        lu_count_n (counters, LU_COUNTER_LOST_SIDEBAND, cpu_events->next.lost.count);
      receiver->func (&cpu_events->next, receiver->user_data);
      lu_ring_consume (&cpu_events->ring);
      cpu_events->has_next = FALSE;
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

/* Skips side-band that was delivered from another ring, without decoding it. */
static void
pass_over_sideband (LuCpuEvents *cpu_events, LuCounters *counters)
{
  gconstpointer record;
  gsize size;
  gboolean corrupt;

  while ((record = lu_ring_peek (&cpu_events->ring, cpu_events->head, &size, &corrupt)) != NULL
         && is_sideband (record))
    {
      lu_ring_expect (&cpu_events->ring, cpu_events->head, 0);
      lu_count (counters, LU_COUNTER_RECORDS);
      lu_ring_consume (&cpu_events->ring);
    }
  lu_count_n (counters, LU_COUNTER_MALFORMED, corrupt);
}

/* Decodes the next record too if it is a sample, so that the receiver can prefetch what its walk
 * will read while it walks this one. The sample's own fields are in the cache by then: they were
 * prefetched one sample earlier. */
static void
look_ahead (const LuPerCpuEvents *self, const LuCpuEvents *cpu_events, LuEvent *event, Ahead *ahead)
{
  gsize size = 0;
  gconstpointer record = event->kind == LU_EVENT_SAMPLE
                             ? lu_ring_peek_next (&cpu_events->ring, cpu_events->head, &size)
                             : NULL;

  ahead->record = NULL;
  if (record != NULL && ((const struct perf_event_header *) record)->type == PERF_RECORD_SAMPLE
      && lu_record_decode (layout_of (self, cpu_events, record, size), record, size, &ahead->event)
      && ahead->event.kind == LU_EVENT_SAMPLE)
    {
      ahead->record = record;
      event->next = &ahead->event;
    }
  lu_ring_expect (&cpu_events->ring, cpu_events->head, ahead->record != NULL ? size : 0);
}

static gboolean
drain_samples (LuPerCpuEvents *self, LuCpuEvents *cpu_events, const LuRecordReceiver *receiver)
{
  LuCounters *counters = receiver->counters;
  LuEvent event;
  Ahead ahead = { 0 };

  if (receiver->skip_sideband)
    pass_over_sideband (cpu_events, counters);
  while (next_event (self, cpu_events, receiver, &ahead, &event))
    {
      look_ahead (self, cpu_events, &event, &ahead);
      if (event.cpu < 0)
        event.cpu = cpu_events->cpu;
      if (event.kind == LU_EVENT_LOST)
        cpu_events->lost_records += event.lost.count;
      if (receiver->func (&event, receiver->user_data) == LU_VERDICT_LATER)
        return FALSE;
      lu_count (counters, LU_COUNTER_RECORDS);
      if (event.kind == LU_EVENT_SAMPLE)
        lu_count_n (counters, LU_COUNTER_SAMPLE_BYTES, cpu_events->ring.record_size);
      if (event.kind == LU_EVENT_BPF_UNWOUND)
        lu_count_n (counters, LU_COUNTER_BPF_UNWOUND_BYTES, cpu_events->ring.record_size);
      lu_ring_consume (&cpu_events->ring);
      if (receiver->skip_sideband)
        pass_over_sideband (cpu_events, counters);
    }
  return TRUE;
}

gboolean
lu_per_cpu_events_drain_samples (LuPerCpuEvents *self, const LuRecordReceiver *receiver)
{
  for (guint i = 0; i < self->events->len; i++)
    if (!drain_samples (self, lu_per_cpu_events_get (self, i), receiver))
      return FALSE;
  return TRUE;
}

/* Returns the end of the descriptors in `fds`. */
static struct pollfd *
add_poll_fds (struct pollfd *fds, const LuPerCpuEvents *events)
{
  for (guint i = 0; i < events->events->len; i++)
    {
      const LuCpuEvents *cpu_events = lu_per_cpu_events_get (events, i);

      if (!cpu_events->is_file)
        *fds++ = (struct pollfd){ .fd = cpu_events->fd, .events = POLLIN };
    }
  return fds;
}

void
lu_per_cpu_events_wait (const LuPerCpuEvents *samples, const LuPerCpuEvents *sideband, int wake_fd,
                        int timeout_ms)
{
  guint n_sideband = sideband != NULL ? sideband->events->len : 0;
  struct pollfd *fds = g_newa (struct pollfd, 1 + samples->events->len + n_sideband);
  struct pollfd wake = { .fd = wake_fd, .events = POLLIN }, *end = fds + 1;

  fds[0] = wake;
  if (sideband != NULL)
    end = add_poll_fds (end, sideband);
  end = add_poll_fds (end, samples);
  if (poll (fds, (nfds_t) (end - fds), timeout_ms) <= 0)
    return;
  for (struct pollfd *at = fds + 1; at < end; at++)
    if (at->revents & (POLLHUP | POLLERR))
      {
        poll (&wake, 1, MIN (timeout_ms, HUNG_UP_MS));
        break;
      }
}
