/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf.c - samples and side-band from our own perf events; see source-perf.h.
 *
 * There are two kinds of rings: samples, and side-band on a dummy event of its own, so that samples
 * can never push out a mapping. A round loads the heads of all sample rings, takes the time,
 * handles all side-band up to that time, merged over the CPUs, and then the samples up to the
 * loaded heads.
 *
 * A side-band record is committed before its task can run the new code, so everything a sample
 * needs has been handled before it. A side-band record can only follow from another one (a child's
 * exec from its fork) that was committed before, so cutting at that time preserves causal order
 * too. */

#include "input/source-perf.h"

#include "base/clock.h"
#include "base/error.h"
#include "per-cpu-reader.h"

#include <string.h>
#include <sys/ioctl.h>

/* A ring holds this part of a second at full rate: the drain may be off the CPU that long. With a
 * little more, the next power of two would cost each start 0.8 ms for each CPU. A quarter of it,
 * tried where stacks are unwound in the kernel, lost up to 1 % at 4 kHz on a busy machine while
 * tables were compiled. */
#define RING_SECONDS 0.23
/* Share of a second for recordings in which every sample is a copy: a quarter of a ring wakes the
 * drain, and each wake-up costs as much as a few dozen samples. */
#define RING_SECONDS_COPIES (2 * RING_SECONDS)
#define RING_BYTES_MIN      (2u << 20)
#define RING_BYTES_MAX      (64u << 20)
/* The mlock limit may reduce the rings to this size: two records of the largest size. */
#define RING_BYTES_FLOOR (128u << 10)
/* Bytes of a sample record without its stack: header, fixed fields, a chain of 127, registers. */
#define RECORD_OVERHEAD 1400

typedef struct
{
  LuSource base;
  LuPerfAbilities abilities;
  guint frequency;
  LuEventInfo event;
  gboolean enable_on_exec, has_copies_only, started, stopped;
  LuPerCpuEvents *sideband;
  LuPerCpuEvents *samples;
  GPtrArray *
      retired; /* array of LuPerCpuEvents: older sample rings, disabled, to be drained and closed */
  LuCpuClocks *clocks;
  GArray *cpus; /* CPUs online at the last check */
  char cpus_text[LU_ONLINE_CPUS_MAX];
  guint64 lost_closed; /* lost counts of closed rings */
  LuSamplerHook hook;  /* attach is NULL: no hook */
} PerfSource;

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

static LuPerCpuEvents *
open_samples (PerfSource *self, GArray *tasks, guint32 stack_size, GError **error)
{
  struct perf_event_attr attr;
  gsize bytes = ring_bytes (self, stack_size);

  lu_perf_sampling_attr (&attr, &self->abilities, self->frequency, stack_size);
  attr.inherit = tasks != NULL;
  attr.enable_on_exec = self->enable_on_exec && !self->started;
  attr.watermark = 1;
  attr.wakeup_watermark = (guint32) bytes / 4;
  return lu_per_cpu_events_new (&attr, self->cpus, tasks,
                                &(LuRingSize){ .wanted = bytes, .minimum = RING_BYTES_FLOOR },
                                error);
}

static gboolean
perf_source_start (LuSource *source, GError **error)
{
  PerfSource *self = (PerfSource *) source;

  if (!self->enable_on_exec)
    lu_per_cpu_events_control (self->samples, PERF_EVENT_IOC_ENABLE);
  lu_cpu_clocks_start (self->clocks);
  self->started = TRUE;
  return TRUE;
}

static gboolean
attach_all (PerfSource *self, LuPerCpuEvents *events, GError **error)
{
  for (guint i = 0; i < events->events->len; i++)
    if (!lu_cpu_events_attach (events, lu_per_cpu_events_get (events, i), &self->hook, error))
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
  if (attach_all (self, self->samples, error))
    return TRUE;
  self->hook = (LuSamplerHook){ 0 };
  return FALSE;
}

static void
perf_source_stop (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;

  lu_per_cpu_events_control (self->samples, PERF_EVENT_IOC_DISABLE);
  lu_cpu_clocks_stop (self->clocks);
  self->stopped = TRUE;
}

static void
close_drained (PerfSource *self)
{
  for (guint i = self->retired->len; i > 0; i--)
    {
      LuPerCpuEvents *events = g_ptr_array_index (self->retired, i - 1);

      if (!lu_per_cpu_events_are_drained (events))
        continue;
      self->lost_closed += lu_per_cpu_events_lost (events);
      g_ptr_array_remove_index (self->retired, i - 1);
    }
}

static LuRound
perf_source_drain (LuSource *source, LuEventFunc func, gpointer user_data)
{
  PerfSource *self = (PerfSource *) source;
  LuRecordReceiver receiver = { .counters = &source->counters,
                                .func = func,
                                .user_data = user_data };
  gboolean any, all = TRUE;
  guint64 now;

  for (guint i = 0; i < self->retired->len; i++)
    lu_per_cpu_events_load_heads (g_ptr_array_index (self->retired, i));
  lu_per_cpu_events_load_heads (self->samples);
  now = lu_monotonic_ns ();
  lu_per_cpu_events_load_heads (self->sideband);
  any = lu_per_cpu_events_drain_sideband (self->sideband, &receiver, now);
  any |= !lu_per_cpu_events_are_drained (self->samples) || self->retired->len > 0;
  for (guint i = 0; i < self->retired->len && all; i++)
    all = lu_per_cpu_events_drain_samples (g_ptr_array_index (self->retired, i), &receiver);
  all = all && lu_per_cpu_events_drain_samples (self->samples, &receiver);
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
  double fill = lu_per_cpu_events_fill (self->samples);

  for (guint i = 0; i < self->retired->len; i++)
    fill = MAX (fill, lu_per_cpu_events_fill (g_ptr_array_index (self->retired, i)));
  return fill;
}

static void
perf_source_wait (LuSource *source, int wake_fd, int timeout_ms)
{
  PerfSource *self = (PerfSource *) source;

  lu_per_cpu_events_wait (self->samples, self->sideband, wake_fd, timeout_ms);
}

static gboolean
perf_source_set_stack_size (LuSource *source, guint32 bytes, GError **error)
{
  PerfSource *self = (PerfSource *) source;
  g_autoptr (GError) refusal = NULL;
  LuPerCpuEvents *events;

  if (self->samples->tasks != NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                   "per-task events cannot be replaced while their tasks have children");
      return FALSE;
    }
  events = open_samples (self, NULL, bytes, error);
  if (events == NULL)
    return FALSE;
  /* Stacks unwound from here on go to the new rings, so the old ones must be quiet. */
  if (self->started && !self->stopped)
    lu_per_cpu_events_control (self->samples, PERF_EVENT_IOC_DISABLE);
  if (self->hook.attach != NULL && !attach_all (self, events, &refusal))
    g_debug ("larger copies: %s", refusal->message);
  if (self->started && !self->stopped)
    lu_per_cpu_events_control (events, PERF_EVENT_IOC_ENABLE);
  g_ptr_array_add (self->retired, self->samples);
  self->samples = events;
  return TRUE;
}

static gboolean
same_cpus (GArray *a, GArray *b)
{
  return a->len == b->len && memcmp (a->data, b->data, a->len * sizeof (int)) == 0;
}

/* A CPU that went offline takes its events with it for good: drains what its rings still hold and
 * closes them. */
static void
drop_events_of_gone_cpus (PerfSource *self, LuPerCpuEvents *events, GArray *cpus)
{
  for (guint i = events->events->len; i > 0; i--)
    {
      LuCpuEvents *cpu_events = lu_per_cpu_events_get (events, i - 1);

      if (lu_cpus_contain (cpus, cpu_events->cpu)
          || lu_ring_head (&cpu_events->ring) != cpu_events->ring.tail)
        continue;
      if (events == self->samples)
        self->lost_closed += lu_cpu_events_lost (events, cpu_events);
      g_ptr_array_remove_index (events->events, i - 1);
    }
}

static void
add_cpu_events_for (PerfSource *self, LuPerCpuEvents *events, int cpu)
{
  g_autoptr (GError) error = NULL;
  LuCpuEvents *cpu_events;

  if (lu_per_cpu_events_has_cpu (events, cpu))
    return;
  if (!lu_per_cpu_events_add_cpu (events, cpu, &error))
    {
      g_debug ("CPU %d came online: %s", cpu, error->message);
      return;
    }
  cpu_events = lu_per_cpu_events_get (events, events->events->len - 1);
  if (events == self->samples && self->hook.attach != NULL
      && !lu_cpu_events_attach (events, cpu_events, &self->hook, &error))
    g_debug ("CPU %d came online: %s", cpu, error->message);
  if (events == self->sideband || (self->started && !self->stopped))
    ioctl (cpu_events->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void
perf_source_tick (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;
  g_autoptr (GArray) cpus = NULL;
  char text[LU_ONLINE_CPUS_MAX];

  lu_cpu_clocks_look (self->clocks);
  lu_online_cpus_read (text);
  if (strcmp (text, self->cpus_text) == 0 && self->samples->events->len == self->cpus->len
      && self->sideband->events->len == self->cpus->len)
    return;
  cpus = lu_online_cpus ();
  g_strlcpy (self->cpus_text, text, sizeof self->cpus_text);
  lu_count_n (&self->base.counters, LU_COUNTER_CPU_CHANGES, !same_cpus (cpus, self->cpus));
  drop_events_of_gone_cpus (self, self->sideband, cpus);
  drop_events_of_gone_cpus (self, self->samples, cpus);
  for (guint i = 0; i < cpus->len; i++)
    {
      add_cpu_events_for (self, self->sideband, g_array_index (cpus, int, i));
      add_cpu_events_for (self, self->samples, g_array_index (cpus, int, i));
    }
  g_array_unref (self->cpus);
  self->cpus = g_steal_pointer (&cpus);
}

static void
perf_source_get_info (LuSource *source, LuSourceInfo *info)
{
  PerfSource *self = (PerfSource *) source;

  *info = (LuSourceInfo){
    .events = &self->event,
    .n_events = 1,
    .frequency = self->frequency,
    .stack_size = self->samples->attr.sample_stack_user,
    .n_rings = self->sideband->events->len + self->samples->events->len,
    .ring_bytes = lu_per_cpu_events_ring_bytes (self->sideband)
                  + lu_per_cpu_events_ring_bytes (self->samples),
    .ring_size_wanted = ring_bytes (self, self->samples->attr.sample_stack_user),
    .ring_size = self->samples->ring_size,
    .kernel_samples = self->abilities.kernel,
    .cpu_wide = self->samples->tasks == NULL,
    .has_lost_counter = self->abilities.has_lost_counter,
    .live = TRUE,
  };
}

static void
perf_source_update_counters (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;
  guint64 lost = self->lost_closed + lu_per_cpu_events_lost (self->samples);

  for (guint i = 0; i < self->retired->len; i++)
    lost += lu_per_cpu_events_lost (g_ptr_array_index (self->retired, i));
  lu_counters_set (&source->counters, LU_COUNTER_LOST_SAMPLES, lost);
  lu_cpu_clocks_count (self->clocks, &source->counters);
}

static void
perf_source_free (LuSource *source)
{
  PerfSource *self = (PerfSource *) source;

  lu_per_cpu_events_free (self->sideband);
  lu_per_cpu_events_free (self->samples);
  g_ptr_array_unref (self->retired);
  lu_cpu_clocks_free (self->clocks);
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
  .update_counters = perf_source_update_counters,
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
  self->event =
      lu_event_of_frequency (abilities->hardware ? "cycles" : "cpu-clock", options->frequency);
  self->enable_on_exec = options->enable_on_exec;
  self->has_copies_only = options->has_copies_only;
  self->cpus = lu_online_cpus ();
  self->retired = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_per_cpu_events_free);
  self->clocks = lu_cpu_clocks_new (&options->clocks, options->enable_on_exec);
  self->sideband = lu_per_cpu_events_new_sideband (abilities, self->cpus, options->tasks, error);
  if (self->sideband == NULL)
    return NULL;
  self->samples = open_samples (self, options->tasks, options->stack_size, error);
  if (self->samples == NULL)
    return NULL;
  return g_steal_pointer (&owner);
}
