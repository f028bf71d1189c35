/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-inherited.c - samples of events that were handed over; see source-inherited.h.
 *
 * The order is that of source-perf.c: load the heads of the sample rings, handle all side-band up
 * to now, then the samples. The handed rings hold side-band as well, but there samples push it out;
 * so it is read from dummy events of our own, and only where these are refused from the handed
 * rings, by a second reader that runs ahead and sees nothing else. */

#include "input/source-inherited.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "input/lane-reader.h"
#include "input/perf-event.h"

#include <fcntl.h>
#include <glib/gi18n.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A ring holds this share of a second at the highest rate there is: the cycles counter at Sysprof's
 * period samples four times as often as cpu-clock. The drain may be off the CPU that long, and
 * /proc is read before its first round. Twice as much, each time zeroed by the kernel, would cost
 * each start 1.5 ms; it was no better on two CPUs with a load of ten. */
#define RING_SECONDS   0.052
#define RING_RATE      4000
#define RING_BYTES_MIN (2u << 20)
/* All rings together, unless RING_BYTES_MIN each is more. */
#define RINGS_BYTES_MAX     (128u << 20)
#define RING_BYTES_FLOOR    (128u << 10)
#define SIDEBAND_RING_BYTES (512u << 10)
#define SIDEBAND_RING_FLOOR (32u << 10)
/* Sample record without its stack: header, fixed fields, a chain of 127, registers. */
#define RECORD_OVERHEAD 1400
/* The events wake us every 149 copies or when a ring is half full. Who looks at a running recording
 * need not wait that long, and what the client has not read when it stops it never reads. Rounds
 * keep that a small share of the recording: as often as upstream's first, then ever less often. */
#define WAIT_SHARE    12
#define WAIT_FIRST_MS 50
#define WAIT_MS       100
#define WAIT_IDLE_MS  250
/* A receiver that would wait longer has nothing to do. */
#define BUSY_MS 500
/* The first process after a while is looked at at once, while it lives; when they come one after
 * the other, ever less often, as long as the receiver finds nothing new about them: each time costs
 * more than what there is to read. So many records, of 100 bytes, are no more than a fifth of a
 * ring. */
#define SIDEBAND_MS     20
#define SIDEBAND_MAX_MS 100
#define SIDEBAND_MANY   1000
/* Rounds without any make a while. */
#define QUIET_ROUNDS 3

typedef struct
{
  LuSource base;
  LuLanes *samples;
  LuLanes *sideband; /* own dummy events; NULL: `ahead` is used */
  LuLanes *ahead;    /* second readers of the rings of `samples`; NULL: `sideband` is used */
  LuRecordLayout sample_layout, sideband_layout;
  LuSourceStats stats;
  guint n_quiet;   /* rounds since there was side-band */
  int sideband_ms; /* until it is looked at again */
  gint64 first_us; /* when samples came first; 0: none have */
  guint32 stack_size;
  gsize ring_size_wanted;
  GArray *poll_fds;                /* of struct pollfd */
  char online[LU_ONLINE_CPUS_MAX]; /* CPUs, as last seen */
  GArray *uncovered;               /* of int: CPUs that were gone in between */
  gboolean has_uncovered;          /* a CPU runs whose side-band we do not get */
} InheritedSource;

/* The receiver behind the second readers. */
typedef struct
{
  LuEventFunc func;
  gpointer user_data;
} Receiver;

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
  for (guint i = 0; i < self->samples->lanes->len; i++)
    {
      LuLane *lane = lu_lanes_get (self->samples, i);
      lu_autofd output_fd = -1;

      if (lane->is_file || lane->cpu < 0)
        {
          g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("descriptor %d is not an event of a known CPU"), lane->fd);
          return FALSE;
        }
      output_fd = lu_lane_open_output (self->samples, lane, error);
      if (output_fd < 0 || !hook->attach (lane->cpu, lane->fd, output_fd, hook->user_data, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
inherited_attach (LuSource *source, const LuSamplerHook *hook, GError **error)
{
  InheritedSource *self = (InheritedSource *) source;
  gboolean ok = attach_all (self, hook, error);

  /* Ids stay: the events are enabled already, and something may have been written. */
  if (self->ahead != NULL)
    lu_lanes_share_outputs (self->samples, self->ahead);

  return ok;
}

static void
inherited_stop (LuSource *source)
{
}

static LuVerdict
pass_sideband (const LuEvent *event, gpointer user_data)
{
  const Receiver *receiver = user_data;

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
drain_sideband (InheritedSource *self, LuEventFunc func, gpointer user_data)
{
  guint64 now = lu_monotonic_ns ();
  LuSourceStats seen_twice = { 0 };
  Receiver receiver = { func, user_data };

  if (self->sideband != NULL)
    {
      lu_lanes_load_heads (self->sideband);
      return lu_lanes_drain_sideband (self->sideband, &self->sideband_layout, now, &self->stats,
                                      func, user_data);
    }
  lu_lanes_load_heads (self->ahead);
  lu_lanes_drain_sideband (self->ahead, &self->sample_layout, now, &seen_twice, pass_sideband,
                           &receiver);
  /* Any of them may have been about a process. */
  self->stats.lost_sideband += seen_twice.lost_sideband;
  return seen_twice.records > 0;
}

static void
pace (InheritedSource *self, gboolean had_sideband, guint64 n_records)
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
  guint64 n_before = self->stats.records;
  gboolean any, all;

  lu_lanes_load_heads (self->samples);
  any = drain_sideband (self, func, user_data);
  pace (self, any, self->stats.records - n_before);
  if (!lu_lanes_are_drained (self->samples))
    {
      any = TRUE;
      if (self->first_us == 0)
        self->first_us = g_get_monotonic_time ();
    }
  all = lu_lanes_drain_samples (self->samples, &self->sample_layout, TRUE, &self->stats, func,
                                user_data);
  if (!any)
    return LU_ROUND_EMPTY;
  return all ? LU_ROUND_CLOSED : LU_ROUND_OPEN;
}

/* An event goes with its CPU and does not come back, and a helper may open none by then. */
static void
note_gone_cpus (InheritedSource *self, GArray *online)
{
  for (guint i = 0; i < self->sideband->lanes->len; i++)
    {
      int cpu = lu_lanes_get (self->sideband, i)->cpu;

      if (!lu_cpus_contain (online, cpu) && !lu_cpus_contain (self->uncovered, cpu))
        g_array_append_val (self->uncovered, cpu);
    }
}

static gboolean
is_uncovered (InheritedSource *self, int cpu)
{
  return lu_cpus_contain (self->uncovered, cpu) || !lu_lanes_has_cpu (self->sideband, cpu);
}

/* Where a CPU runs whose side-band we do not get, some of it is always lost: the drain then looks
 * at /proc, once a second. Its samples are nobody's, too: the client opened no event for it. */
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
  self->stats.cpu_changes += strcmp (text, self->online) != 0;
  g_strlcpy (self->online, text, sizeof self->online);
  self->has_uncovered = FALSE;
  for (guint i = 0; i < online->len; i++)
    self->has_uncovered |= is_uncovered (self, g_array_index (online, int, i));
  self->stats.lost_sideband += self->has_uncovered;
}

static double
inherited_get_fill (LuSource *source)
{
  return lu_lanes_fill (((InheritedSource *) source)->samples);
}

/* How much of the recording may be missing if it ends now: ms. */
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
  LuLanes *const lanes[] = { self->samples, self->sideband };
  int wait_ms = MIN (timeout_ms, longest_wait_ms (self, timeout_ms <= BUSY_MS));

  self->sideband_ms = MIN (self->sideband_ms, MAX (timeout_ms, SIDEBAND_MS));
  if (self->n_quiet < QUIET_ROUNDS)
    lu_lanes_wait (lanes, 1, self->poll_fds, wake_fd, MIN (wait_ms, self->sideband_ms));
  else
    lu_lanes_wait (lanes, self->sideband != NULL ? 2 : 1, self->poll_fds, wake_fd, wait_ms);
}

static gsize
mapped_bytes (const LuLanes *lanes)
{
  gsize bytes = 0;

  for (guint i = 0; lanes != NULL && i < lanes->lanes->len; i++)
    bytes += lu_lanes_get (lanes, i)->ring.data_size;
  return bytes;
}

static void
inherited_get_info (LuSource *source, LuSourceInfo *info)
{
  InheritedSource *self = (InheritedSource *) source;

  *info = (LuSourceInfo){
    .event_name = "handed over",
    .stack_size = self->stack_size,
    .n_rings =
        self->samples->lanes->len + (self->sideband != NULL ? self->sideband->lanes->len : 0),
    .ring_bytes = mapped_bytes (self->samples) + mapped_bytes (self->sideband),
    .ring_size = self->samples->ring_size,
    .ring_size_wanted = self->ring_size_wanted,
    .kernel_samples = TRUE,
    .cpu_wide = TRUE,
    .is_paced = TRUE,
    .has_lost_counter = self->samples->attr.read_format == PERF_FORMAT_LOST,
    .live = TRUE,
    .trouble = self->stats.malformed > self->stats.records
                   ? _ ("the events were not opened as Sysprof's client does it")
                   : NULL,
  };
}

static void
inherited_get_stats (LuSource *source, LuSourceStats *stats)
{
  InheritedSource *self = (InheritedSource *) source;

  *stats = self->stats;
  if (self->samples->attr.read_format == PERF_FORMAT_LOST)
    stats->lost_samples = lu_lanes_read_lost (self->samples);
  else
    for (guint i = 0; i < self->samples->lanes->len; i++)
      stats->lost_samples += lu_lanes_get (self->samples, i)->lost_records;
}

static void
inherited_free (LuSource *source)
{
  InheritedSource *self = (InheritedSource *) source;

  lu_lanes_free (self->ahead);
  lu_lanes_free (self->sideband);
  lu_lanes_free (self->samples);
  g_array_unref (self->poll_fds);
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
  .get_stats = inherited_get_stats,
  .free = inherited_free,
};

/* What Sysprof's client asks for, as far as it decides how records look. */
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

/* Events, and recorded rings in memory files: these must not shrink, because behind the end of a
 * mapped file there is a signal, and their owner can change what we have checked, so no text is
 * taken from them. */
static gboolean
check_is_ring (const LuHandedEvent *event, gboolean own_sideband, GError **error)
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

/* One event twice would be read twice. */
static gboolean
check_differ (const LuHandedEvent *a, const LuHandedEvent *b, GError **error)
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
      const LuHandedEvent *event = &g_array_index (events, LuHandedEvent, i);

      if (!options->any_file && !check_is_ring (event, options->own_sideband, error))
        return FALSE;
      for (guint k = 0; k < i; k++)
        if (!check_differ (&g_array_index (events, LuHandedEvent, k), event, error))
          return FALSE;
    }
  return TRUE;
}

/* FALSE if there is none that may be read. */
static gboolean
open_sideband (InheritedSource *self, gboolean own, gboolean any_file, GError **error)
{
  LuPerfAbilities abilities = { .cpu_wide = TRUE, .kernel = TRUE };
  g_autoptr (GArray) cpus = lu_online_cpus ();
  g_autoptr (GError) refusal = NULL;
  struct perf_event_attr attr;

  lu_perf_sideband_attr (&attr, &abilities);
  lu_record_layout_init (&self->sideband_layout, &attr);
  if (own)
    self->sideband =
        lu_lanes_new (&attr, cpus, NULL, SIDEBAND_RING_BYTES, SIDEBAND_RING_FLOOR, &refusal);
  if (self->sideband != NULL)
    {
      lu_lanes_control (self->sideband, PERF_EVENT_IOC_ENABLE);
      return TRUE;
    }
  for (guint i = 0; i < self->samples->lanes->len && !any_file; i++)
    if (lu_lanes_get (self->samples, i)->is_file)
      {
        g_propagate_error (error, g_steal_pointer (&refusal));
        return FALSE;
      }
  if (refusal != NULL)
    g_debug ("side-band from the handed rings: %s", refusal->message);
  self->ahead = lu_lanes_view (self->samples);
  return TRUE;
}

static void
close_events (GArray *events)
{
  for (guint i = 0; i < events->len; i++)
    close (g_array_index (events, LuHandedEvent, i).fd);
}

LuSource *
lu_source_inherited_new (const LuInheritedSourceOptions *options, GError **error)
{
  gsize wanted = ring_bytes (options->stack_size, options->events->len);
  struct perf_event_attr attr;
  g_autoptr (LuSource) owner = NULL;
  InheritedSource *self;
  LuLanes *samples;

  if (!check_events (options, error))
    {
      close_events (options->events);
      return NULL;
    }
  init_attr (&attr, options->stack_size);
  samples = lu_lanes_adopt (&attr, options->events, wanted, RING_BYTES_FLOOR, error);
  if (samples == NULL)
    return NULL;
  self = g_new0 (InheritedSource, 1);
  self->base.ops = &inherited_source_ops;
  self->samples = samples;
  self->stack_size = options->stack_size;
  self->ring_size_wanted = wanted;
  self->sideband_ms = SIDEBAND_MS;
  self->n_quiet = QUIET_ROUNDS;
  self->poll_fds = g_array_new (FALSE, FALSE, sizeof (struct pollfd));
  self->uncovered = g_array_new (FALSE, FALSE, sizeof (int));
  lu_online_cpus_read (self->online);
  lu_record_layout_init (&self->sample_layout, &attr);
  owner = &self->base;
  if (!open_sideband (self, options->own_sideband, options->any_file, error))
    return NULL;
  return g_steal_pointer (&owner);
}
