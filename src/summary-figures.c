/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-figures.c - what is worked out from the counts of a recording; see summary-figures.h. */

#include "summary-figures.h"

/* A walked stack that finds no room is no loss yet: the sample follows; and arguments are asked for
 * elsewhere. Where losses are counted by ring, and not by event, they are among them all the same.
 */
guint64
lu_summary_lost (const LuSummary *self)
{
  guint64 lost = self->source_stats.lost_samples;
  const struct lu_bpf_counters *counters = &self->kernel.counters;
  guint64 not_written = counters->reasons[LU_BPF_REASON_EMIT] + counters->n_untold;

  if (!self->source.has_lost_counter)
    lost -= MIN (lost, not_written);
  return lost + self->drain.over_budget;
}

double
lu_summary_kernel_percent (const LuSummary *self)
{
  guint64 walked = lu_tally_walked (self->tally);

  return walked > 0 ? 100.0 * (double) self->drain.in_kernel / (double) walked : 0.0;
}

double
lu_summary_ratio (guint64 value, guint64 of)
{
  return of > 0 ? (double) value / (double) of : 0.0;
}

guint64
lu_summary_ring_bytes (const LuSummary *self)
{
  return (guint64) lu_summary_ratio (
      self->source_stats.sample_bytes + self->source_stats.walked_bytes, self->drain.seen);
}

double
lu_summary_loss_percent (const LuSummary *self)
{
  guint64 lost = lu_summary_lost (self);
  guint64 all = self->drain.seen + lost;

  return all > 0 ? 100.0 * (double) lost / (double) all : 0.0;
}

gint64
lu_summary_unexplained (const LuSummary *self)
{
  return (gint64) self->expected_samples - (gint64) self->drain.taken
         - (gint64) lu_summary_lost (self);
}

double
lu_summary_us_per_sample (const LuSummary *self, double cpu_seconds)
{
  return self->drain.taken > 0 ? cpu_seconds * 1e6 / (double) self->drain.taken : 0.0;
}

guint64
lu_summary_n_timed (const struct lu_bpf_counters *counters)
{
  guint64 n = 0;

  for (guint i = 0; i < LU_BPF_N_BUCKETS; i++)
    n += counters->buckets[i];
  return n;
}

/* The upper end of a bucket: 256 ns, then four steps to each doubling. */
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
