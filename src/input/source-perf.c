/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf.c - samples and side-band from our own perf events; see source-perf.h.
 *
 * Two kinds of rings: samples, and side-band on a dummy event of its own, so that samples can never
 * push out a mapping. A round is: load the heads of all sample rings; take the time; handle all
 * side-band up to that time, merged by time over the CPUs; then the samples up to the loaded heads.
 * A side-band record is committed before its task can run the new code, so whatever a sample needs
 * has been handled before it, and because one side-band record can only follow from another (a
 * child's exec from its fork) that was committed before, cutting at the time taken keeps them in
 * causal order too. */

#include "input/source-perf.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "input/lane-reader.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* A ring holds this share of a second at full rate: the drain may be off the CPU that long. With a
 * little more, the next power of two would cost each start 0.8 ms for each CPU. Tried: a quarter of
 * it where stacks are walked in the kernel; 4 kHz then lost up to 1 % on a busy machine while the
 * tables were compiled. */
#define RING_SECONDS 0.23
/* Where every sample is a copy, all of the recording: it is a quarter of a ring that wakes the
 * drain, and each time costs as much as some dozen samples. */
#define RING_SECONDS_COPIES (2 * RING_SECONDS)
#define RING_BYTES_MIN      (2u << 20)
#define RING_BYTES_MAX      (64u << 20)
/* What the mlock limit may press the rings down to: two records of the largest size. */
#define RING_BYTES_FLOOR    (128u << 10)
#define SIDEBAND_RING_BYTES (512u << 10)
#define SIDEBAND_RING_FLOOR (32u << 10)
/* Sample record without its stack: header, fixed fields, a chain of 127, registers. */
#define RECORD_OVERHEAD 1400

typedef struct
{
  LuSource base;
  LuPerfAbilities abilities;
  guint frequency;
  gboolean enable_on_exec, has_copies_only, started, stopped;
  LuLanes *sideband;
  LuLanes *samples;
  GPtrArray *retired; /* of LuLanes: older sample rings, disabled, drained and then closed */
  GArray *clock_fds;  /* of int */
  LuRecordLayout sideband_layout, sample_layout;
  LuSourceStats stats;
  GArray *cpus; /* online, as last seen */
  char cpus_text[LU_ONLINE_CPUS_MAX];
  guint64 lost_closed; /* lost counts of rings that are closed */
  GArray *poll_fds;    /* of struct pollfd */
  LuSamplerHook hook;  /* attach is NULL: none */
} PerfSource;

static void
ptr_lanes_free (gpointer lanes)
{
  lu_lanes_free (lanes);
}

static gsize
ring_bytes (const PerfSource *self, guint32 stack_size)
{
  double seconds = self->has_copies_only ? RING_SECONDS_COPIES : RING_SECONDS;
  double wanted = self->frequency * seconds * (stack_size + RECORD_OVERHEAD);
  gsize bytes = RING_BYTES_MIN;

  while (bytes < wanted && bytes < RING_BYTES_MAX)
    bytes *= 2;
  return bytes;
}

static LuLanes *
open_samples (PerfSource *self, GArray *tasks, guint32 stack_size, GError **error)
{
  struct perf_event_attr attr;
  gsize bytes = ring_bytes (self, stack_size);

  lu_perf_sampling_attr (&attr, &self->abilities, self->frequency, stack_size);
  attr.inherit = tasks != NULL;
  attr.enable_on_exec = self->enable_on_exec && !self->started;
  attr.watermark = 1;
  attr.wakeup_watermark = (guint32) bytes / 4;
  return lu_lanes_new (&attr, self->cpus, tasks, bytes, RING_BYTES_FLOOR, error);
}

static gboolean
open_sideband (PerfSource *self, GArray *tasks, GError **error)
{
  struct perf_event_attr attr;

  lu_perf_sideband_attr (&attr, &self->abilities);
  attr.inherit = tasks != NULL;
  /* Without privilege the samples need the little memory that may be locked. */
  self->sideband = lu_lanes_new (&attr, self->cpus, tasks,
                                 tasks != NULL ? SIDEBAND_RING_BYTES / 8 : SIDEBAND_RING_BYTES,
                                 SIDEBAND_RING_FLOOR, error);
  if (self->sideband == NULL)
    return FALSE;
  lu_record_layout_init (&self->sideband_layout, &attr);
  lu_lanes_control (self->sideband, PERF_EVENT_IOC_ENABLE);
  return TRUE;
}

/* CPU time of what is recorded, for "expected"; not being able to count it is no error. */
static void
open_clocks (PerfSource *self, const LuPerfSourceOptions *options)
{
  struct perf_event_attr attr;

  lu_perf_task_clock_attr (&attr);
  attr.enable_on_exec = options->enable_on_exec;
  for (guint i = 0; options->clock_tasks != NULL && i < options->clock_tasks->len; i++)
    {
      int fd = lu_perf_open (&attr, g_array_index (options->clock_tasks, pid_t, i), -1);

      if (fd >= 0)
        g_array_append_val (self->clock_fds, fd);
    }
}

static gboolean
perf_source_start (LuSource *source, GError **error)
{
  PerfSource *self = (PerfSource *) source;

  if (!self->enable_on_exec)
    {
      lu_lanes_control (self->samples, PERF_EVENT_IOC_ENABLE);
      for (guint i = 0; i < self->clock_fds->len; i++)
        ioctl (g_array_index (self->clock_fds, int, i), PERF_EVENT_IOC_ENABLE, 0);
    }
  self->started = TRUE;
  return TRUE;
}

static gboolean
attach_lane (PerfSource *self, LuLanes *lanes, LuLane *lane, GError **error)
{
  lu_autofd output_fd = lu_lane_open_output (lanes, lane, error);

  return output_fd >= 0
         && self->hook.attach (lane->cpu, lane->fd, output_fd, self->hook.user_data, error);
}

static gboolean
attach_lanes (PerfSource *self, LuLanes *lanes, GError **error)
{
  for (guint i = 0; i < lanes->lanes->len; i++)
    if (!attach_lane (self, lanes, lu_lanes_get (lanes, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
perf_source_attach (LuSource *source, const LuSamplerHook *hook, GError **error)
{
  PerfSource *self = (PerfSource *) source;

  if (self->samples->tasks != NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "events of single tasks");
      return FALSE;
    }
  self->hook = *hook;
  if (attach_lanes (self, self->samples, error))
    return TRUE;
  self->hook = (LuSamplerHook){ 0 };
  return FALSE;
}

static void
perf_source_stop (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;

  self->stopped = TRUE;
  lu_lanes_control (self->samples, PERF_EVENT_IOC_DISABLE);
  for (guint i = 0; i < self->clock_fds->len; i++)
    ioctl (g_array_index (self->clock_fds, int, i), PERF_EVENT_IOC_DISABLE, 0);
}

static guint64
lanes_lost (PerfSource *self, LuLanes *lanes)
{
  guint64 lost = 0;

  if (self->abilities.has_lost_counter)
    return lu_lanes_read_lost (lanes);
  for (guint i = 0; i < lanes->lanes->len; i++)
    lost += lu_lanes_get (lanes, i)->lost_records;
  return lost;
}

static void
close_drained (PerfSource *self)
{
  for (guint i = self->retired->len; i > 0; i--)
    {
      LuLanes *lanes = g_ptr_array_index (self->retired, i - 1);

      if (!lu_lanes_are_drained (lanes))
        continue;
      self->lost_closed += lanes_lost (self, lanes);
      g_ptr_array_remove_index (self->retired, i - 1);
    }
}

static gboolean
drain_samples (PerfSource *self, LuLanes *lanes, LuEventFunc func, gpointer user_data)
{
  return lu_lanes_drain_samples (lanes, &self->sample_layout, FALSE, &self->stats, func, user_data);
}

static LuRound
perf_source_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  PerfSource *self = (PerfSource *) source;
  gboolean any, all = TRUE;
  guint64 now;

  for (guint i = 0; i < self->retired->len; i++)
    lu_lanes_load_heads (g_ptr_array_index (self->retired, i));
  lu_lanes_load_heads (self->samples);
  now = lu_monotonic_ns ();
  lu_lanes_load_heads (self->sideband);
  any = lu_lanes_drain_sideband (self->sideband, &self->sideband_layout, now, &self->stats, func,
                                 user_data);
  any |= !lu_lanes_are_drained (self->samples) || self->retired->len > 0;
  for (guint i = 0; i < self->retired->len && all; i++)
    all = drain_samples (self, g_ptr_array_index (self->retired, i), func, user_data);
  all = all && drain_samples (self, self->samples, func, user_data);
  if (all)
    close_drained (self);
  if (!any)
    return LU_ROUND_EMPTY;
  return all ? LU_ROUND_CLOSED : LU_ROUND_OPEN;
}

static double
perf_source_get_fill (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;
  double fill = lu_lanes_fill (self->samples);

  for (guint i = 0; i < self->retired->len; i++)
    fill = MAX (fill, lu_lanes_fill (g_ptr_array_index (self->retired, i)));
  return fill;
}

static void
perf_source_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  PerfSource *self = (PerfSource *) source;
  LuLanes *const lanes[] = { self->sideband, self->samples };

  lu_lanes_wait (lanes, G_N_ELEMENTS (lanes), self->poll_fds, wake_fd, timeout_ms);
}

static gboolean
perf_source_set_stack_size (LuSource *source, guint32 bytes, GError **error)
{
  PerfSource *self = (PerfSource *) source;
  g_autoptr (GError) refusal = NULL;
  LuLanes *lanes;

  if (self->samples->tasks != NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                   "per-task events cannot be replaced while their tasks have children");
      return FALSE;
    }
  lanes = open_samples (self, NULL, bytes, error);
  if (lanes == NULL)
    return FALSE;
  /* From here on what is walked goes to the new rings, so the old ones must be quiet. */
  if (self->started && !self->stopped)
    lu_lanes_control (self->samples, PERF_EVENT_IOC_DISABLE);
  if (self->hook.attach != NULL && !attach_lanes (self, lanes, &refusal))
    g_debug ("larger copies: %s", refusal->message);
  if (self->started && !self->stopped)
    lu_lanes_control (lanes, PERF_EVENT_IOC_ENABLE);
  g_ptr_array_add (self->retired, self->samples);
  self->samples = lanes;
  return TRUE;
}

static gboolean
same_cpus (GArray *a, GArray *b)
{
  return a->len == b->len && memcmp (a->data, b->data, a->len * sizeof (int)) == 0;
}

/* A CPU that went takes its events with it for good: what its rings still hold is drained, the lane
 * goes. */
static void
drop_lanes_of_gone_cpus (PerfSource *self, LuLanes *lanes, GArray *cpus)
{
  for (guint i = lanes->lanes->len; i > 0; i--)
    {
      LuLane *lane = lu_lanes_get (lanes, i - 1);

      if (lu_cpus_contain (cpus, lane->cpu) || lu_ring_head (&lane->ring) != lane->ring.tail)
        continue;
      if (lanes == self->samples)
        self->lost_closed +=
            self->abilities.has_lost_counter ? lu_lane_read_lost (lanes, lane) : lane->lost_records;
      g_ptr_array_remove_index (lanes->lanes, i - 1);
    }
}

static void
add_lane_for (PerfSource *self, LuLanes *lanes, int cpu)
{
  g_autoptr (GError) error = NULL;
  LuLane *lane;

  if (lu_lanes_has_cpu (lanes, cpu))
    return;
  if (!lu_lanes_add_cpu (lanes, cpu, &error))
    {
      g_debug ("CPU %d came online: %s", cpu, error->message);
      return;
    }
  lane = lu_lanes_get (lanes, lanes->lanes->len - 1);
  if (lanes == self->samples && self->hook.attach != NULL
      && !attach_lane (self, lanes, lane, &error))
    g_debug ("CPU %d came online: %s", cpu, error->message);
  if (lanes == self->sideband || (self->started && !self->stopped))
    ioctl (lane->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void
perf_source_tick (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;
  g_autoptr (GArray) cpus = NULL;
  char text[LU_ONLINE_CPUS_MAX];

  lu_online_cpus_read (text);
  if (strcmp (text, self->cpus_text) == 0 && self->samples->lanes->len == self->cpus->len
      && self->sideband->lanes->len == self->cpus->len)
    return;
  cpus = lu_online_cpus ();
  g_strlcpy (self->cpus_text, text, sizeof self->cpus_text);
  self->stats.cpu_changes += !same_cpus (cpus, self->cpus);
  drop_lanes_of_gone_cpus (self, self->sideband, cpus);
  drop_lanes_of_gone_cpus (self, self->samples, cpus);
  for (guint i = 0; i < cpus->len; i++)
    {
      add_lane_for (self, self->sideband, g_array_index (cpus, int, i));
      add_lane_for (self, self->samples, g_array_index (cpus, int, i));
    }
  g_array_unref (self->cpus);
  self->cpus = g_steal_pointer (&cpus);
}

static void
perf_source_get_info (LuSource *source, LuSourceInfo *info)
{
  PerfSource *self = (PerfSource *) source;

  *info = (LuSourceInfo){
    .event_name = self->abilities.hardware ? "cycles" : "cpu-clock",
    .frequency = self->frequency,
    .period = self->abilities.hardware ? 0 : 1000000000u / self->frequency,
    .stack_size = self->samples->attr.sample_stack_user,
    .n_rings = self->sideband->lanes->len + self->samples->lanes->len,
    .ring_bytes = self->sideband->lanes->len * self->sideband->ring_size
                  + self->samples->lanes->len * self->samples->ring_size,
    .ring_size_wanted = ring_bytes (self, self->samples->attr.sample_stack_user),
    .ring_size = self->samples->ring_size,
    .kernel_samples = self->abilities.kernel,
    .cpu_wide = self->samples->tasks == NULL,
    .has_lost_counter = self->abilities.has_lost_counter,
    .live = TRUE,
  };
}

static guint64
read_clock (int fd)
{
  guint64 ns;

  return read (fd, &ns, sizeof ns) == sizeof ns ? ns : 0;
}

static void
perf_source_get_stats (LuSource *source, LuSourceStats *stats)
{
  PerfSource *self = (PerfSource *) source;

  *stats = self->stats;
  stats->lost_samples = self->lost_closed + lanes_lost (self, self->samples);
  for (guint i = 0; i < self->retired->len; i++)
    stats->lost_samples += lanes_lost (self, g_ptr_array_index (self->retired, i));
  for (guint i = 0; i < self->clock_fds->len; i++)
    stats->task_clock_ns += read_clock (g_array_index (self->clock_fds, int, i));
  stats->expected_samples = (guint64) ((double) stats->task_clock_ns * self->frequency / 1e9 + 0.5);
}

static void
perf_source_free (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;

  lu_lanes_free (self->sideband);
  lu_lanes_free (self->samples);
  g_ptr_array_unref (self->retired);
  for (guint i = 0; i < self->clock_fds->len; i++)
    close (g_array_index (self->clock_fds, int, i));
  g_array_unref (self->clock_fds);
  g_array_unref (self->poll_fds);
  g_array_unref (self->cpus);
  g_free (self);
}

static const LuSourceOps perf_source_ops = {
  .name = "perf events",
  .attach = perf_source_attach,
  .start = perf_source_start,
  .drain = perf_source_drain,
  .get_fill = perf_source_get_fill,
  .wait = perf_source_wait,
  .stop = perf_source_stop,
  .set_stack_size = perf_source_set_stack_size,
  .tick = perf_source_tick,
  .get_info = perf_source_get_info,
  .get_stats = perf_source_get_stats,
  .free = perf_source_free,
};

LuSource *
lu_source_perf_new (const LuPerfAbilities *abilities, const LuPerfSourceOptions *options,
                    GError **error)
{
  PerfSource *self = g_new0 (PerfSource, 1);
  g_autoptr (LuSource) owner = &self->base;

  self->base.ops = &perf_source_ops;
  self->abilities = *abilities;
  self->frequency = options->frequency;
  self->enable_on_exec = options->enable_on_exec;
  self->has_copies_only = options->has_copies_only;
  self->cpus = lu_online_cpus ();
  self->retired = g_ptr_array_new_with_free_func (ptr_lanes_free);
  self->clock_fds = g_array_new (FALSE, FALSE, sizeof (int));
  self->poll_fds = g_array_new (FALSE, FALSE, sizeof (struct pollfd));
  if (!open_sideband (self, options->tasks, error))
    return NULL;
  self->samples = open_samples (self, options->tasks, options->stack_size, error);
  if (self->samples == NULL)
    return NULL;
  lu_record_layout_init (&self->sample_layout, &self->samples->attr);
  open_clocks (self, options);
  return g_steal_pointer (&owner);
}
