/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-json.c - a recording's counts as JSON; see summary.h. Every end state is there by its
 * key. */

#include "summary.h"

#include "base/json.h"
#include "summary-figures.h"

#define X(NAME, key, title) key,
static const char *const reason_keys[] = { LU_BPF_REASON_LIST (X) };
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
add_modules (LuJson *json, const LuTally *tally)
{
  g_autoptr (GPtrArray) modules = lu_tally_modules (tally);

  lu_json_begin_array (json, "modules");
  for (guint i = 0; i < modules->len && i < 64; i++)
    {
      const LuModuleTally *module = g_ptr_array_index (modules, i);

      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "path", module->path);
      lu_json_add_int (json, "samples", (gint64) module->total);
      add_states (json, module->by_status);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
}

static void
add_counts (LuJson *json, const LuSummary *self)
{
  lu_json_add_int (json, "samples", (gint64) self->tally->samples);
  lu_json_add_double (json, "complete_percent", lu_tally_complete_percent (self->tally));
  lu_json_add_int (json, "walked", (gint64) lu_tally_walked (self->tally));
  lu_json_add_int (json, "excluded",
                   (gint64) (self->tally->samples - lu_tally_walked (self->tally)));
  lu_json_add_int (json, "live_reads", (gint64) self->tally->live_reads);
  lu_json_add_int (json, "joined", (gint64) self->tally->joined);
  lu_json_add_int (json, "guessed", (gint64) self->tally->guessed);
  lu_json_add_int (json, "guessed_frames", (gint64) self->tally->guessed_frames);
  add_states (json, self->tally->by_status);
  lu_json_begin_object (json, "lost");
  lu_json_add_int (json, "samples", (gint64) (lu_summary_lost (self) - self->drain.over_budget));
  lu_json_add_bool (json, "exact", self->source.has_lost_counter);
  lu_json_add_int (json, "sideband", (gint64) self->source_stats.lost_sideband);
  lu_json_add_int (json, "over_budget", (gint64) self->drain.over_budget);
  lu_json_add_int (json, "malformed", (gint64) self->source_stats.malformed);
  lu_json_add_double (json, "percent", lu_summary_loss_percent (self));
  lu_json_end_object (json);
  lu_json_add_int (json, "throttled", (gint64) self->drain.throttled);
  lu_json_add_int (json, "max_sample_rate", (gint64) self->max_sample_rate);
  lu_json_add_int (json, "cpu_changes", self->source_stats.cpu_changes);
  lu_json_add_int (json, "expected", (gint64) self->expected_samples);
  if (self->expected_samples > 0)
    lu_json_add_int (json, "unexplained", lu_summary_unexplained (self));
  lu_json_add_int (json, "own_samples", (gint64) self->drain.own);
  lu_json_add_int (json, "other_samples", (gint64) self->drain.others);
}

static void
add_walks (LuJson *json, const LuDrainProgress *drain)
{
  lu_json_begin_object (json, "walks");
  lu_json_add_int (json, "in_place", (gint64) drain->walked);
  lu_json_add_int (json, "by_worker", (gint64) drain->handed_on);
  lu_json_add_int (json, "refused", (gint64) drain->over_worker);
  lu_json_end_object (json);
}

static void
add_check (LuJson *json, const LuUnwinderCounts *counts)
{
  if (counts->compared == 0)
    return;
  lu_json_begin_object (json, "check");
  lu_json_add_int (json, "compared", (gint64) counts->compared);
  lu_json_add_int (json, "frames_differ", (gint64) counts->frames_differ);
  lu_json_add_int (json, "states_differ", (gint64) counts->states_differ);
  if (counts->walked_compared > 0)
    {
      lu_json_add_int (json, "kernel_compared", (gint64) counts->walked_compared);
      lu_json_add_int (json, "kernel_differ", (gint64) counts->walked_differ);
      lu_json_add_int (json, "kernel_frames_compared", (gint64) counts->kernel_compared);
      lu_json_add_int (json, "kernel_frames_differ", (gint64) counts->kernel_differ);
    }
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

/* What the walks read. */
static void
add_maps (LuJson *json, const LuKernelWalksStats *kernel)
{
  const LuBpfMapsStats *maps = &kernel->maps;

  lu_json_add_int (json, "memory_bytes", (gint64) maps->memory_bytes);
  lu_json_add_int (json, "entries", maps->entries);
  lu_json_add_int (json, "entries_max", maps->max_entries);
  lu_json_add_int (json, "table_bytes", (gint64) maps->table_bytes);
  lu_json_add_int (json, "mapping_bytes", (gint64) maps->mapping_bytes);
  lu_json_add_int (json, "tables", maps->n_tables);
  lu_json_add_int (json, "rules", maps->n_rules);
  lu_json_add_int (json, "processes", maps->n_processes);
  lu_json_add_int (json, "published", (gint64) maps->published);
  lu_json_add_int (json, "evicted", (gint64) maps->evicted);
  lu_json_add_int (json, "refused_tables", (gint64) maps->refused_tables);
  lu_json_add_int (json, "refused_rules", (gint64) maps->refused_rules);
  lu_json_add_int (json, "refused_modules", (gint64) maps->refused_modules);
  lu_json_add_int (json, "refused_mappings", (gint64) maps->refused_mappings);
  lu_json_add_int (json, "refused_processes", (gint64) maps->refused_processes);
}

static void
add_run_times (LuJson *json, const LuKernelWalksStats *kernel)
{
  guint64 n_walks = lu_summary_n_timed (&kernel->counters);

  if (kernel->n_runs > 0)
    {
      lu_json_add_int (json, "runs", (gint64) kernel->n_runs);
      lu_json_add_double (json, "ns_per_run", lu_summary_ratio (kernel->run_ns, kernel->n_runs));
    }
  if (n_walks == 0)
    return;
  lu_json_begin_object (json, "walk_ns");
  lu_json_add_int (json, "p50", (gint64) lu_summary_walk_ns (&kernel->counters, 0.5));
  lu_json_add_int (json, "p90", (gint64) lu_summary_walk_ns (&kernel->counters, 0.9));
  lu_json_add_int (json, "p99", (gint64) lu_summary_walk_ns (&kernel->counters, 0.99));
  lu_json_add_int (json, "max", (gint64) lu_summary_walk_ns (&kernel->counters, 1.0));
  lu_json_add_double (json, "frames", lu_summary_ratio (kernel->counters.n_frames, n_walks));
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
      lu_json_add_int (json, "stacks", (gint64) self->drain.in_kernel);
      lu_json_add_double (json, "percent", lu_summary_kernel_percent (self));
      lu_json_add_int (json, "stale", (gint64) self->drain.stale);
      lu_json_add_int (json, "strange", (gint64) self->drain.strange);
      lu_json_add_int (json, "frames", (gint64) kernel->counters.n_frames);
      lu_json_add_int (json, "guessed_frames", (gint64) kernel->counters.n_guessed);
      lu_json_add_int (json, "in_kernel_mode", (gint64) kernel->counters.n_kernel_mode);
      lu_json_add_int (json, "by_kernel_mappings", (gint64) kernel->counters.n_vmas);
      lu_json_add_int (json, "verified_instructions", kernel->verified);
      add_reasons (json, kernel->counters.reasons);
      add_run_times (json, kernel);
      add_maps (json, kernel);
    }
  lu_json_end_object (json);
}

static void
add_tables (LuJson *json, const LuTablesStats *tables)
{
  lu_json_begin_object (json, "tables");
  lu_json_add_int (json, "loaded", (gint64) tables->n_loaded);
  lu_json_add_int (json, "built", (gint64) tables->n_built);
  lu_json_add_int (json, "evicted", (gint64) tables->n_evicted);
  lu_json_add_int (json, "stored", (gint64) tables->n_saved);
  lu_json_add_int (json, "refused", (gint64) tables->n_refused);
  lu_json_add_int (json, "single_rules", (gint64) tables->n_misses);
  lu_json_add_int (json, "bytes", (gint64) tables->bytes);
  lu_json_add_int (json, "bytes_max", (gint64) tables->bytes_max);
  lu_json_end_object (json);
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
  lu_json_add_int (json, "size", self->drain.stack_size);
  lu_json_add_int (json, "grown", self->drain.stack_grown);
  lu_json_add_int (json, "used_max", (gint64) self->tally->stack_used_max);
  lu_json_add_int (json, "needed_max", (gint64) self->tally->stack_needed_max);
  lu_json_add_int (json, "cut_off_at_last_size",
                   (gint64) lu_tally_truncated_at (self->tally, self->drain.stack_size));
  lu_json_add_int (json, "size_for_99_percent",
                   (gint64) lu_tally_stack_size_for (self->tally, 99.0));
  lu_json_end_object (json);
  lu_json_begin_object (json, "source");
  lu_json_add_string (json, "event", self->source.event_name);
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
  lu_json_add_string (json, "file", self->output);
  lu_json_add_int (json, "bytes", (gint64) self->output_bytes);
  if (self->n_files > 0)
    lu_json_add_int (json, "files", self->n_files);
}

char *
lu_summary_to_json (const LuSummary *self)
{
  LuJson *json = lu_json_new ();

  add_counts (json, self);
  add_walks (json, &self->drain);
  add_check (json, &self->engine_counts);
  add_kernel_walks (json, self);
  add_tables (json, &self->tables);
  add_settings (json, self);
  add_modules (json, self->tally);
  return lu_json_end (json);
}
