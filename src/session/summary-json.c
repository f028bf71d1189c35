/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-json.c - writes the counts of a recording as JSON; see summary.h. */

#include "summary.h"

#include "base/json.h"

#define X(NAME, key, title) key,
static const char *const reason_keys[] = { LU_BPF_REASON_LIST (X) };
#undef X

#define X(NAME, GROUP, key, meaning) { LU_COUNTER_GROUP_##GROUP, key },
static const struct
{
  LuCounterGroup group;
  const char *key;
} counters[] = { LU_COUNTER_LIST (X) };
#undef X

static void
add_states (LuJson *json, const guint64 by_status[LU_N_STATUS])
{
  lu_json_begin_object (json, "by_state");
  for (guint i = 0; i < LU_N_STATUS; i++)
    if (by_status[i] > 0)
      lu_json_add_int (json, lu_status_key ((LuStatus) i), (gint64) by_status[i]);
  lu_json_end_object (json);
}

static void
add_modules (LuJson *json, const LuStatistics *statistics)
{
  g_autoptr (GPtrArray) modules = lu_statistics_modules (statistics);

  lu_json_begin_array (json, "modules");
  for (guint i = 0; i < modules->len && i < 64; i++)
    {
      const LuModuleStatistics *module = g_ptr_array_index (modules, i);

      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "path", module->path);
      lu_json_add_int (json, "samples", (gint64) module->total);
      add_states (json, module->by_status);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
}

static void
add_counters (LuJson *json, const LuSummary *self, LuCounterGroup group)
{
  for (guint i = 0; i < LU_N_COUNTERS; i++)
    if (counters[i].group == group)
      lu_json_add_int (json, counters[i].key, (gint64) lu_summary_count (self, (LuCounter) i));
}

static void
add_lost (LuJson *json, const LuSummary *self)
{
  guint64 lost = lu_summary_lost (self) - lu_summary_count (self, LU_COUNTER_DROPPED_SIDEBAND);

  lu_json_begin_object (json, "lost");
  lu_json_add_int (json, "samples", (gint64) lost);
  lu_json_add_bool (json, "exact", self->source.has_lost_counter);
  add_counters (json, self, LU_COUNTER_GROUP_LOST);
  lu_json_add_double (json, "percent", lu_summary_loss_percent (self));
  lu_json_end_object (json);
}

static void
add_counts (LuJson *json, const LuSummary *self)
{
  guint64 samples = lu_summary_count (self, LU_COUNTER_SAMPLES);
  guint64 unwindable = lu_statistics_unwindable (self->statistics);

  add_counters (json, self, LU_COUNTER_GROUP_RECORDING);
  lu_json_add_double (json, "complete_percent", lu_statistics_complete_percent (self->statistics));
  lu_json_add_int (json, "walked", (gint64) unwindable);
  lu_json_add_int (json, "excluded", (gint64) (samples - unwindable));
  add_states (json, self->statistics->by_status);
  add_lost (json, self);
  lu_json_add_int (json, "max_sample_rate", (gint64) self->max_sample_rate);
  lu_json_add_int (json, "expected", (gint64) self->expected_samples);
  if (self->expected_samples > 0)
    lu_json_add_int (json, "unexplained", lu_summary_unexplained (self));
}

/* Adds an object that holds nothing but counters. */
static void
add_group (LuJson *json, const LuSummary *self, const char *key, LuCounterGroup group)
{
  lu_json_begin_object (json, key);
  add_counters (json, self, group);
  lu_json_end_object (json);
}

static void
add_check (LuJson *json, const LuSummary *self)
{
  if (lu_summary_count (self, LU_COUNTER_COMPARED) == 0)
    return;
  lu_json_begin_object (json, "check");
  add_counters (json, self, LU_COUNTER_GROUP_CHECK);
  if (lu_summary_count (self, LU_COUNTER_BPF_COMPARED) > 0)
    add_counters (json, self, LU_COUNTER_GROUP_CHECK_BPF);
  lu_json_end_object (json);
}

static void
add_reasons (LuJson *json, const guint64 reasons[LU_BPF_N_REASONS])
{
  lu_json_begin_object (json, "reasons");
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    if (reasons[i] > 0)
      lu_json_add_int (json, reason_keys[i], (gint64) reasons[i]);
  lu_json_end_object (json);
}

static void
add_run_times (LuJson *json, const LuKernelWalksStats *kernel)
{
  guint64 n_walks = lu_summary_n_timed (&kernel->bpf);

  if (kernel->n_runs > 0)
    {
      lu_json_add_int (json, "runs", (gint64) kernel->n_runs);
      lu_json_add_double (json, "ns_per_run", lu_summary_ratio (kernel->run_ns, kernel->n_runs));
    }
  if (n_walks == 0)
    return;
  lu_json_begin_object (json, "walk_ns");
  lu_json_add_int (json, "p50", (gint64) lu_summary_walk_ns (&kernel->bpf, 0.5));
  lu_json_add_int (json, "p90", (gint64) lu_summary_walk_ns (&kernel->bpf, 0.9));
  lu_json_add_int (json, "p99", (gint64) lu_summary_walk_ns (&kernel->bpf, 0.99));
  lu_json_add_int (json, "max", (gint64) lu_summary_walk_ns (&kernel->bpf, 1.0));
  lu_json_add_double (json, "frames",
                      lu_summary_ratio (kernel->bpf.values[LU_COUNTER_BPF_FRAMES], n_walks));
  lu_json_end_object (json);
}

static void
add_kernel_walks (LuJson *json, const LuSummary *self)
{
  const LuKernelWalksStats *kernel = &self->kernel;

  if (kernel->reason == NULL)
    return;
  lu_json_begin_object (json, "kernel_walks");
  lu_json_add_bool (json, "active", kernel->is_active);
  lu_json_add_string (json, "reason", kernel->reason);
  if (kernel->is_active)
    {
      add_counters (json, self, LU_COUNTER_GROUP_KERNEL_WALKS);
      lu_json_add_double (json, "percent", lu_summary_kernel_percent (self));
      lu_json_add_int (json, "verified_instructions", kernel->verified);
      add_reasons (json, kernel->bpf.reasons);
      add_run_times (json, kernel);
      add_counters (json, self, LU_COUNTER_GROUP_MAPS);
    }
  lu_json_end_object (json);
}

static void
add_outputs (LuJson *json, const LuSummary *self)
{
  lu_json_add_string (json, "file", self->outputs[0]);
  lu_json_add_int (json, "bytes", (gint64) lu_summary_output_bytes (self, 0));
  lu_json_begin_array (json, "outputs");
  for (guint i = 0; self->outputs[i] != NULL; i++)
    {
      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "file", self->outputs[i]);
      lu_json_add_int (json, "bytes", (gint64) lu_summary_output_bytes (self, i));
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
}

static void
add_settings (LuJson *json, const LuSummary *self)
{
  lu_json_begin_object (json, "cpu");
  lu_json_add_double (json, "self_seconds", self->cpu_seconds);
  lu_json_add_double (json, "us_per_sample", lu_summary_us_per_sample (self, self->cpu_seconds));
  lu_json_add_double (json, "recording_self_seconds", self->recording_cpu_seconds);
  lu_json_add_double (json, "recording_us_per_sample",
                      lu_summary_us_per_sample (self, self->recording_cpu_seconds));
  lu_json_end_object (json);
  lu_json_begin_object (json, "stack");
  lu_json_add_int (json, "size", self->stack_size);
  add_counters (json, self, LU_COUNTER_GROUP_STACK);
  lu_json_add_int (json, "cut_off_at_last_size",
                   (gint64) lu_statistics_truncated_at (self->statistics, self->stack_size));
  lu_json_add_int (json, "size_for_99_percent",
                   (gint64) lu_statistics_stack_size_for (self->statistics, 99.0));
  lu_json_end_object (json);
  lu_json_begin_object (json, "source");
  lu_json_add_string (json, "event", self->source.events[0].name);
  lu_json_add_double (json, "frequency", self->source.frequency);
  lu_json_add_bool (json, "cpu_wide", self->source.cpu_wide);
  lu_json_add_bool (json, "kernel", self->source.kernel_samples);
  lu_json_add_int (json, "rings", self->source.n_rings);
  lu_json_add_int (json, "ring_bytes", (gint64) self->source.ring_bytes);
  lu_json_add_int (json, "ring_bytes_per_sample", (gint64) lu_summary_ring_bytes (self));
  if (self->source.trouble != NULL)
    lu_json_add_string (json, "trouble", self->source.trouble);
  lu_json_end_object (json);
  lu_json_add_int (json, "rss_anon_bytes", (gint64) self->rss_anon_bytes);
  lu_json_add_double (json, "seconds", self->seconds);
  if (self->outputs != NULL)
    add_outputs (json, self);
  if (self->n_files > 0)
    lu_json_add_int (json, "files", self->n_files);
}

char *
lu_summary_to_json (const LuSummary *self)
{
  LuJson *json = lu_json_new ();

  add_counts (json, self);
  add_group (json, self, "walks", LU_COUNTER_GROUP_WALKS);
  add_check (json, self);
  add_kernel_walks (json, self);
  add_group (json, self, "tables", LU_COUNTER_GROUP_TABLES);
  add_settings (json, self);
  add_modules (json, self->statistics);
  return lu_json_end (json);
}
