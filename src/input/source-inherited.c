/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-inherited.c - samples of inherited events; see source-inherited.h.
 *
 * A round has the order of source-perf.c: load the heads of the sample rings, handle all side-band
 * up to now, then the samples. The inherited rings contain side-band too, but samples push it out
 * there. So side-band is read from dummy events of our own. Only if these are refused is it read
 * from the inherited rings, by a second reader that runs ahead and skips everything else. */

#include "input/source-inherited.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "per-cpu-reader.h"

#include <glib/gi18n.h>
#include <string.h>
#include <sys/ioctl.h>

/* A ring holds this part of a second at the highest rate: the cycles counter at Sysprof's period
 * samples four times as often as cpu-clock. The drain may be off the CPU that long, and /proc is
 * read before its first round. Twice the size, zeroed by the kernel each time, would cost each
 * start 1.5 ms, and was no better on two CPUs with a load of ten. */
#define RING_SECONDS   0.052
#define RING_RATE      4000
#define RING_BYTES_MIN (2u << 20)
/* Limit for all rings together, unless RING_BYTES_MIN for each is more. */
#define RINGS_BYTES_MAX  (128u << 20)
#define RING_BYTES_FLOOR (128u << 10)
/* Bytes of a sample record without its stack: header, fixed fields, a chain of 127, registers. */
#define RECORD_OVERHEAD 1400
/* The events wake us every 149 copies or when a ring is half full. Somebody who watches the
 * recording should not wait that long, and what the client has not read when it stops is lost.
 * Rounds keep the wait a small share of the recording: as short as upstream's at first, then longer
 * and longer. */
#define WAIT_SHARE    12
#define WAIT_FIRST_MS 50
#define WAIT_MS       100
#define WAIT_IDLE_MS  250
/* A receiver that would wait longer than this is idle. */
#define BUSY_MS 500
/* After a quiet time the first process is looked at immediately, while it is alive. While processes
 * keep coming, they are looked at less and less often as long as the receiver finds nothing new:
 * each look costs more than reading the records. The records of that time, 100 bytes each, fill at
 * most a fifth of a ring. */
#define SIDEBAND_MS     20
#define SIDEBAND_MAX_MS 100
#define SIDEBAND_MANY   1000
/* This many rounds without side-band are a quiet time. */
#define QUIET_ROUNDS 3

typedef struct
{
  LuSource base;
  LuPerCpuEvents *samples;
  LuPerCpuEvents *sideband; /* own dummy events; NULL: `ahead` is used */
  LuPerCpuEvents *ahead;    /* second readers of the rings of `samples`; NULL: `sideband` is used */
  guint n_quiet;            /* rounds since the last side-band */
  int sideband_ms;          /* time until the next look at side-band */
  gint64 first_us;          /* time of the first samples; 0: none yet */
  guint32 stack_size;
  gsize ring_size_wanted;
  char online[LU_ONLINE_CPUS_MAX]; /* online CPUs at the last check */
  GArray *uncovered;               /* array of int: CPUs that were offline in between */
  gboolean has_uncovered;          /* a CPU is online whose side-band we do not get */
} InheritedSource;

static gsize
ring_bytes (guint32 stack_size, guint n_rings)
{
  double wanted = RING_SECONDS * RING_RATE * (stack_size + RECORD_OVERHEAD);
  gsize bytes = RING_BYTES_MIN;

  while (bytes < wanted && bytes * 2 * n_rings <= RINGS_BYTES_MAX)
    bytes *= 2;
  return bytes;
}

static gboolean
inherited_start (LuSource *source, GError **error)
{
  return TRUE;
}

static gboolean
attach_all (InheritedSource *self, const LuSamplerHook *hook, GError **error)
{
  for (guint i = 0; i < self->samples->events->len; i++)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (self->samples, i);

      if (cpu_events->is_file || cpu_events->cpu < 0)
        {
          g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("descriptor %d is not an event of a known CPU"), cpu_events->fd);
          return FALSE;
        }
      if (!lu_cpu_events_attach (self->samples, cpu_events, hook, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
inherited_attach (LuSource *source, const LuSamplerHook *hook, GError **error)
{
  InheritedSource *self = (InheritedSource *) source;
  gboolean ok = attach_all (self, hook, error);

  /* The ids must stay: the events are enabled already, and records may have been written. */
  if (self->ahead != NULL)
    lu_per_cpu_events_share_outputs (self->samples, self->ahead);

  return ok;
}

static void
inherited_stop (LuSource *source)
{
}

static LuVerdict
pass_sideband (const LuEvent *event, gpointer user_data)
{
  const LuRecordReceiver *receiver = user_data;

  switch (event->kind)
    {
    case LU_EVENT_MMAP:
    case LU_EVENT_COMM:
    case LU_EVENT_FORK:
    case LU_EVENT_EXIT:
    case LU_EVENT_NAMESPACES:
      return receiver->func (event, receiver->user_data);
    default:
      return LU_VERDICT_DONE;
    }
}

static gboolean
drain_sideband (InheritedSource *self, LuRecordReceiver *receiver)
{
  guint64 now = lu_monotonic_ns ();
  LuCounters seen_twice = { 0 };
  LuRecordReceiver passing = { .counters = &seen_twice,
                               .func = pass_sideband,
                               .user_data = receiver };

  if (self->sideband != NULL)
    {
      lu_per_cpu_events_load_heads (self->sideband);
      return lu_per_cpu_events_drain_sideband (self->sideband, receiver, now);
    }
  lu_per_cpu_events_load_heads (self->ahead);
  lu_per_cpu_events_drain_sideband (self->ahead, &passing, now);
  /* Any of the lost records may have been about a process. */
  lu_count_n (&self->base.counters, LU_COUNTER_LOST_SIDEBAND,
              lu_counters_get (&seen_twice, LU_COUNTER_LOST_SIDEBAND));
  return lu_counters_get (&seen_twice, LU_COUNTER_RECORDS) > 0;
}

static void
scheduler (InheritedSource *self, gboolean had_sideband, guint64 n_records)
{
  self->n_quiet = had_sideband ? 0 : self->n_quiet + 1;
  if (n_records >= SIDEBAND_MANY || !had_sideband)
    self->sideband_ms = MAX (self->sideband_ms / 2, SIDEBAND_MS);
  else
    self->sideband_ms = MIN (self->sideband_ms * 2, SIDEBAND_MAX_MS);
}

static LuRound
inherited_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  InheritedSource *self = (InheritedSource *) source;
  guint64 n_before = lu_counters_get (&source->counters, LU_COUNTER_RECORDS);
  LuRecordReceiver receiver = {
    .counters = &source->counters, .func = func, .user_data = user_data, .skip_sideband = TRUE
  };
  gboolean any, all;

  lu_per_cpu_events_load_heads (self->samples);
  any = drain_sideband (self, &receiver);
  scheduler (self, any, lu_counters_get (&source->counters, LU_COUNTER_RECORDS) - n_before);
  if (!lu_per_cpu_events_are_drained (self->samples))
    {
      any = TRUE;
      if (self->first_us == 0)
        self->first_us = g_get_monotonic_time ();
    }
  all = lu_per_cpu_events_drain_samples (self->samples, &receiver);
  if (!any)
    return LU_ROUND_EMPTY;
  return all ? LU_ROUND_CLOSED : LU_ROUND_OPEN;
}

/* Notes CPUs that went offline. An event disappears with its CPU and does not come back, and a
 * helper may not open another by then. */
static void
note_gone_cpus (InheritedSource *self, GArray *online)
{
  for (guint i = 0; i < self->sideband->events->len; i++)
    {
      int cpu = lu_per_cpu_events_get (self->sideband, i)->cpu;

      if (!lu_cpus_contain (online, cpu) && !lu_cpus_contain (self->uncovered, cpu))
        g_array_append_val (self->uncovered, cpu);
    }
}

static gboolean
is_uncovered (InheritedSource *self, int cpu)
{
  return lu_cpus_contain (self->uncovered, cpu) || !lu_per_cpu_events_has_cpu (self->sideband, cpu);
}

/* If a CPU is online whose side-band we do not get, some side-band is always lost: the drain then
 * reads /proc once a second. Samples of that CPU are missing too, because the client opened no
 * event for it. */
static void
inherited_tick (LuSource *source)
{
  InheritedSource *self = (InheritedSource *) source;
  char text[LU_ONLINE_CPUS_MAX];
  g_autoptr (GArray) online = NULL;

  if (self->sideband == NULL)
    return;
  lu_online_cpus_read (text);
  if (strcmp (text, self->online) == 0 && !self->has_uncovered)
    return;
  online = lu_online_cpus ();
  note_gone_cpus (self, online);
  lu_count_n (&source->counters, LU_COUNTER_CPU_CHANGES, strcmp (text, self->online) != 0);
  g_strlcpy (self->online, text, sizeof self->online);
  self->has_uncovered = FALSE;
  for (guint i = 0; i < online->len; i++)
    self->has_uncovered |= is_uncovered (self, g_array_index (online, int, i));
  lu_count_n (&source->counters, LU_COUNTER_LOST_SIDEBAND, self->has_uncovered);
}

static double
inherited_get_fill (LuSource *source)
{
  return lu_per_cpu_events_fill (((InheritedSource *) source)->samples);
}

/* Returns how many ms of the recording may be missing if it ends now. */
static int
longest_wait_ms (const InheritedSource *self, gboolean is_busy)
{
  int most = is_busy ? WAIT_MS : WAIT_IDLE_MS;
  gint64 age_ms;

  if (self->first_us == 0)
    return most;
  age_ms = (g_get_monotonic_time () - self->first_us) / 1000;
  return (int) CLAMP (age_ms / WAIT_SHARE, WAIT_FIRST_MS, most);
}

static void
inherited_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  InheritedSource *self = (InheritedSource *) source;
  gboolean is_quiet = self->n_quiet >= QUIET_ROUNDS;
  int wait_ms = MIN (timeout_ms, longest_wait_ms (self, timeout_ms <= BUSY_MS));

  self->sideband_ms = MIN (self->sideband_ms, MAX (timeout_ms, SIDEBAND_MS));
  lu_per_cpu_events_wait (self->samples, is_quiet ? self->sideband : NULL, wake_fd,
                          is_quiet ? wait_ms : MIN (wait_ms, self->sideband_ms));
}

static void
inherited_get_info (LuSource *source, LuSourceInfo *info)
{
  static const LuEventInfo event = { .name = "handed over", .unit = LU_UNIT_TIME };
  InheritedSource *self = (InheritedSource *) source;

  *info = (LuSourceInfo){
    .events = &event,
    .n_events = 1,
    .stack_size = self->stack_size,
    .n_rings =
        self->samples->events->len + (self->sideband != NULL ? self->sideband->events->len : 0),
    .ring_bytes = lu_per_cpu_events_ring_bytes (self->samples)
                  + (self->sideband != NULL ? lu_per_cpu_events_ring_bytes (self->sideband) : 0),
    .ring_size = self->samples->ring_size,
    .ring_size_wanted = self->ring_size_wanted,
    .kernel_samples = TRUE,
    .cpu_wide = TRUE,
    .batches_itself = TRUE,
    .has_lost_counter = self->samples->attr.read_format == PERF_FORMAT_LOST,
    .live = TRUE,
    .trouble = lu_counters_get (&source->counters, LU_COUNTER_MALFORMED)
                       > lu_counters_get (&source->counters, LU_COUNTER_RECORDS)
                   ? _ ("the events were not opened the way Sysprof's client opens them")
                   : NULL,
  };
}

static void
inherited_update_counters (LuSource *source)
{
  InheritedSource *self = (InheritedSource *) source;

  lu_counters_set (&source->counters, LU_COUNTER_LOST_SAMPLES,
                   lu_per_cpu_events_lost (self->samples));
}

static void
inherited_free (LuSource *source)
{
  InheritedSource *self = (InheritedSource *) source;

  lu_per_cpu_events_free (self->ahead);
  lu_per_cpu_events_free (self->sideband);
  lu_per_cpu_events_free (self->samples);
  g_array_unref (self->uncovered);
  g_free (self);
}

static const LuSourceOps inherited_source_ops = {
  .name = "handed-over events",
  .attach = inherited_attach,
  .start = inherited_start,
  .drain = inherited_drain,
  .get_fill = inherited_get_fill,
  .wait = inherited_wait,
  .tick = inherited_tick,
  .stop = inherited_stop,
  .get_info = inherited_get_info,
  .update_counters = inherited_update_counters,
  .free = inherited_free,
};

/* Fills in the attributes that Sysprof's client uses, as far as they determine the layout of
 * records. */
static void
init_attr (struct perf_event_attr *attr, guint32 stack_size)
{
  memset (attr, 0, sizeof *attr);
  attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                      | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr->sample_regs_user = lu_perf_user_registers ();
  attr->sample_stack_user = stack_size;
  attr->sample_id_all = 1;
}

/* Accepts events, and recorded rings in memory files. A file must not shrink, because reading a
 * mapping past its end raises SIGBUS. Its owner can change it after our checks, so no text is taken
 * from it. */
static gboolean
check_is_ring (const LuInheritedEvent *event, gboolean own_sideband, GError **error)
{
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", event->fd);
  char target[64] = "";
  int seals;

  if (lu_perf_is_event (event->fd))
    return TRUE;
  seals = fcntl (event->fd, F_GET_SEALS);
  if (own_sideband && seals >= 0 && (seals & F_SEAL_SHRINK) != 0)
    return TRUE;
  if (readlink (link, target, sizeof target - 1) < 0)
    target[0] = 0;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("descriptor %d (CPU %d) is not a perf event%s%s"), event->fd, event->cpu,
               target[0] != 0 ? " but " : ": nothing is open there", target);
  return FALSE;
}

/* An event that occurs twice would be read twice. */
static gboolean
check_differ (const LuInheritedEvent *a, const LuInheritedEvent *b, GError **error)
{
  guint64 a_id = 0, b_id = 0;

  if (a->fd != b->fd
      && (ioctl (a->fd, PERF_EVENT_IOC_ID, &a_id) < 0 || ioctl (b->fd, PERF_EVENT_IOC_ID, &b_id) < 0
          || a_id != b_id))
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("descriptors %d and %d are the same event"),
               a->fd, b->fd);
  return FALSE;
}

static gboolean
check_events (const LuInheritedSourceOptions *options, GError **error)
{
  GArray *events = options->events;

  for (guint i = 0; i < events->len; i++)
    {
      const LuInheritedEvent *event = &g_array_index (events, LuInheritedEvent, i);

      if (!options->any_file && !check_is_ring (event, options->own_sideband, error))
        return FALSE;
      for (guint k = 0; k < i; k++)
        if (!check_differ (&g_array_index (events, LuInheritedEvent, k), event, error))
          return FALSE;
    }
  return TRUE;
}

/* Returns FALSE if there is no side-band that may be read. */
static gboolean
open_sideband (InheritedSource *self, gboolean own, gboolean any_file, GError **error)
{
  LuPerfAbilities abilities = { .cpu_wide = TRUE, .kernel = TRUE };
  g_autoptr (GArray) cpus = lu_online_cpus ();
  g_autoptr (GError) refusal = NULL;

  if (own)
    self->sideband = lu_per_cpu_events_new_sideband (&abilities, cpus, NULL, &refusal);
  if (self->sideband != NULL)
    return TRUE;
  for (guint i = 0; i < self->samples->events->len && !any_file; i++)
    if (lu_per_cpu_events_get (self->samples, i)->is_file)
      {
        g_propagate_error (error, g_steal_pointer (&refusal));
        return FALSE;
      }
  if (refusal != NULL)
    g_debug ("side-band from the handed rings: %s", refusal->message);
  self->ahead = lu_per_cpu_events_view (self->samples);
  return TRUE;
}

static void
close_events (GArray *events)
{
  for (guint i = 0; i < events->len; i++)
    close (g_array_index (events, LuInheritedEvent, i).fd);
}

LuSource *
lu_source_inherited_new (const LuInheritedSourceOptions *options, GError **error)
{
  gsize wanted = ring_bytes (options->stack_size, options->events->len);
  struct perf_event_attr attr;
  g_autoptr (LuSource) owner = NULL;
  InheritedSource *self;
  LuPerCpuEvents *samples;

  if (!check_events (options, error))
    {
      close_events (options->events);
      return NULL;
    }
  init_attr (&attr, options->stack_size);
  samples = lu_per_cpu_events_adopt (&attr, options->events,
                                     &(LuRingSize){ .wanted = wanted, .minimum = RING_BYTES_FLOOR },
                                     error);
  if (samples == NULL)
    return NULL;
  self = g_new0 (InheritedSource, 1);
  self->base.ops = &inherited_source_ops;
  self->samples = samples;
  self->stack_size = options->stack_size;
  self->ring_size_wanted = wanted;
  self->sideband_ms = SIDEBAND_MS;
  self->n_quiet = QUIET_ROUNDS;
  self->uncovered = g_array_new (FALSE, FALSE, sizeof (int));
  lu_online_cpus_read (self->online);
  owner = &self->base;
  if (!open_sideband (self, options->own_sideband, options->any_file, error))
    return NULL;
  return g_steal_pointer (&owner);
}
