/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-figures.c - figures computed from the counts of a recording; see summary.h. */

#include "summary.h"

#include "base/clock.h"
#include "base/fd.h"

/* The kernel's counters of tasks say up to 4 % more than getrusage() in a storm of threads. If they
 * say more than this times as much, COMMAND left children behind that nobody waited for. */
#define LEFT_BEHIND 1.1

static guint64
rss_anon_bytes (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/self/status", 8192, NULL);
  const char *line = text != NULL ? strstr (text, "RssAnon:") : NULL;

  return line != NULL ? g_ascii_strtoull (line + strlen ("RssAnon:"), NULL, 10) * 1024 : 0;
}

void
lu_summary_note_system (LuSummary *self)
{
  self->max_sample_rate = lu_perf_max_sample_rate ();
  self->rss_anon_bytes = rss_anon_bytes ();
}

void
lu_summary_note_cost (LuSummary *self, guint64 helpers_cpu_ns)
{
  self->cpu_seconds = (double) (lu_process_cpu_ns () + helpers_cpu_ns) / 1e9;
  self->rss_anon_bytes = MAX (self->rss_anon_bytes, rss_anon_bytes ());
}

/* Returns how many samples of the whole system are not recorded: our own and those of other pid
 * namespaces. */
static guint64
left_out (const LuSummary *self)
{
  return lu_summary_count (self, LU_COUNTER_OWN) + lu_summary_count (self, LU_COUNTER_NOT_RECORDED)
         + self->kernel.bpf.reasons[LU_BPF_REASON_NOT_FOLLOWED];
}

void
lu_summary_set_expected (LuSummary *self, gboolean is_all, guint64 command_cpu_ns)
{
  guint64 clock_ns = lu_summary_count (self, LU_COUNTER_TASK_CLOCK_NS), expected;

  /* Either lacks some: the end of tasks, or children that nobody has waited for yet. */
  if (!is_all && lu_summary_count (self, LU_COUNTER_OLD_CHILDREN) == 0)
    clock_ns = MAX (clock_ns, lu_summary_count (self, LU_COUNTER_ACCOUNTED_NS));
  if (!is_all && (double) clock_ns < (double) command_cpu_ns * LEFT_BEHIND)
    clock_ns = command_cpu_ns;
  expected = (guint64) ((double) clock_ns * self->source.frequency / 1e9 + 0.5);
  self->expected_samples = expected - (is_all ? MIN (left_out (self), expected) : 0);
  self->has_lost_of_others = self->source.live && self->source.cpu_wide && !is_all;
}

void
lu_summary_init (LuSummary *self, LuPipeline *pipeline)
{
  LuPipelineStatistics statistics;

  lu_pipeline_get_statistics (pipeline, &statistics);
  *self = (LuSummary){
    .counters = statistics.counters,
    .statistics = statistics.stacks,
    .source = statistics.source,
    .kernel = statistics.kernel,
    .stack_size = lu_pipeline_stack_size (pipeline),
    .seconds = lu_pipeline_seconds (pipeline),
    .cpu_seconds = (double) lu_process_cpu_ns () / 1e9,
    .recording_cpu_seconds = (double) statistics.cpu_ns / 1e9,
    .output_bytes = lu_pipeline_bytes_written (pipeline),
  };
  lu_summary_note_system (self);
}

/* A record of the BPF program that finds no room in the ring is not a lost sample: the sample
 * itself follows, and /proc has the arguments. Kernels before 6.0 count losses per ring rather than
 * per event, so these records are in their count and are subtracted. */
guint64
lu_summary_lost (const LuSummary *self)
{
  guint64 lost = lu_summary_count (self, LU_COUNTER_LOST_SAMPLES);
  guint64 not_written = self->kernel.bpf.reasons[LU_BPF_REASON_EMIT]
                        + lu_summary_count (self, LU_COUNTER_BPF_UNANNOUNCED);

  if (!self->source.has_lost_counter)
    lost -= MIN (lost, not_written);
  return lost + lu_summary_count (self, LU_COUNTER_DROPPED_SIDEBAND);
}

double
lu_summary_kernel_percent (const LuSummary *self)
{
  return 100.0
         * lu_summary_ratio (lu_summary_count (self, LU_COUNTER_BPF_UNWOUND),
                             lu_statistics_unwindable (self->statistics));
}

double
lu_summary_ratio (guint64 value, guint64 of)
{
  return of > 0 ? (double) value / (double) of : 0.0;
}

guint64
lu_summary_ring_bytes (const LuSummary *self)
{
  return (guint64) lu_summary_ratio (lu_summary_count (self, LU_COUNTER_SAMPLE_BYTES)
                                         + lu_summary_count (self, LU_COUNTER_BPF_UNWOUND_BYTES),
                                     lu_summary_count (self, LU_COUNTER_SEEN));
}

double
lu_summary_loss_percent (const LuSummary *self)
{
  guint64 lost = lu_summary_lost (self);
  guint64 all = lu_summary_count (self, LU_COUNTER_SEEN) + lost;

  return all > 0 ? 100.0 * (double) lost / (double) all : 0.0;
}

gint64
lu_summary_unexplained (const LuSummary *self)
{
  gint64 missing =
      (gint64) self->expected_samples - (gint64) lu_summary_count (self, LU_COUNTER_TAKEN);
  gint64 lost = (gint64) lu_summary_lost (self);

  return missing - (self->has_lost_of_others ? CLAMP (missing, 0, lost) : lost);
}

guint64
lu_summary_output_bytes (const LuSummary *self, guint index)
{
  struct stat info;

  if (self->outputs[1] == NULL)
    return self->output_bytes;
  return stat (self->outputs[index], &info) == 0 && S_ISREG (info.st_mode) ? (guint64) info.st_size
                                                                           : 0;
}

double
lu_summary_us_per_sample (const LuSummary *self, double cpu_seconds)
{
  return lu_summary_count (self, LU_COUNTER_TAKEN) > 0
             ? cpu_seconds * 1e6 / (double) lu_summary_count (self, LU_COUNTER_TAKEN)
             : 0.0;
}

guint64
lu_summary_n_timed (const struct lu_bpf_counters *counters)
{
  guint64 n = 0;

  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    n += counters->buckets[i];
  return n;
}

/* Returns the upper end of a bucket: 256 ns, then four steps to each doubling. */
static guint64
bucket_ns (guint bucket)
{
  guint doubling = bucket / 4;

  return (G_GUINT64_CONSTANT (256) << doubling) / 4 * (4 + bucket % 4);
}

guint64
lu_summary_walk_ns (const struct lu_bpf_counters *counters, double share)
{
  guint64 n = lu_summary_n_timed (counters), sum = 0;
  guint i = 0;

  for (i = 0; i + 1 < LU_BPF_N_BUCKETS; i++)
    {
      sum += counters->buckets[i];
      if ((double) sum >= share * (double) n)
        break;
    }
  return bucket_ns (i);
}
