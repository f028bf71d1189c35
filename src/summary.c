/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary.c - text and JSON of a finished recording; see summary.h.
 *
 * Both come from the same struct. Every end state is printed by name with its count, those that say
 * nothing about unwinding (no registers, no stack in the sample) beside "complete %", not inside
 * it. */

#include "config.h"

#include "summary.h"

#include "input/perf-event.h"
#include "output/format.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

/* One part in this many. */
#define WORTH_TELLING       20
#define MAX_MODULES_PRINTED 5
#define MAX_REASONS_PRINTED 4

/* A walked stack that finds no room is no loss yet: the sample follows. Where losses are counted by
 * ring, and not by event, it is among them all the same. */
static guint64
lost_samples (const LuSummary *self)
{
  guint64 lost = self->source_stats.lost_samples;
  guint64 not_written = self->kernel.counters.reasons[LU_BPF_REASON_EMIT];

  if (!self->source.has_lost_counter)
    lost -= MIN (lost, not_written);
  return lost + self->drain.over_budget;
}

/* Of the stacks that could be unwound at all. */
static double
kernel_percent (const LuSummary *self)
{
  guint64 walked = lu_tally_walked (self->tally);

  return walked > 0 ? 100.0 * (double) self->drain.in_kernel / (double) walked : 0.0;
}

static double
ratio (guint64 value, guint64 of)
{
  return of > 0 ? (double) value / (double) of : 0.0;
}

static guint64
ring_bytes_per_sample (const LuSummary *self)
{
  return (guint64) ratio (self->source_stats.sample_bytes + self->source_stats.walked_bytes,
                          self->drain.seen);
}

double
lu_summary_loss_percent (const LuSummary *self)
{
  guint64 lost = lost_samples (self);
  guint64 all = self->drain.seen + lost;

  return all > 0 ? 100.0 * (double) lost / (double) all : 0.0;
}

static gint64
unexplained (const LuSummary *self)
{
  return (gint64) self->expected_samples - (gint64) self->drain.taken
         - (gint64) lost_samples (self);
}

static double
us_per_sample (const LuSummary *self)
{
  return self->drain.taken > 0 ? self->cpu_seconds * 1e6 / (double) self->drain.taken : 0.0;
}

static void
add_int (JsonBuilder *json, const char *name, gint64 value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_int_value (json, value);
}

static void
add_double (JsonBuilder *json, const char *name, double value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_double_value (json, value);
}

static void
add_string (JsonBuilder *json, const char *name, const char *value)
{
  g_autofree char *valid = g_utf8_make_valid (value, -1);

  json_builder_set_member_name (json, name);
  json_builder_add_string_value (json, valid);
}

static void
add_bool (JsonBuilder *json, const char *name, gboolean value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_boolean_value (json, value);
}

static void
begin_object (JsonBuilder *json, const char *name)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_object (json);
}

static void
add_states (JsonBuilder *json, const guint64 by_status[LU_N_STATUS])
{
  begin_object (json, "by_state");
  for (guint i = 0; i < LU_N_STATUS; i++)
    if (by_status[i] > 0)
      add_int (json, lu_status_key ((LuStatus) i), (gint64) by_status[i]);
  json_builder_end_object (json);
}

static void
add_modules (JsonBuilder *json, const LuTally *tally)
{
  g_autoptr (GPtrArray) modules = lu_tally_modules (tally);

  json_builder_set_member_name (json, "modules");
  json_builder_begin_array (json);
  for (guint i = 0; i < modules->len && i < 64; i++)
    {
      const LuModuleTally *module = g_ptr_array_index (modules, i);

      json_builder_begin_object (json);
      add_string (json, "path", module->path);
      add_int (json, "samples", (gint64) module->total);
      add_states (json, module->by_status);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}

static void
add_counts (JsonBuilder *json, const LuSummary *self)
{
  add_int (json, "samples", (gint64) self->tally->samples);
  add_double (json, "complete_percent", lu_tally_complete_percent (self->tally));
  add_int (json, "walked", (gint64) lu_tally_walked (self->tally));
  add_int (json, "excluded", (gint64) (self->tally->samples - lu_tally_walked (self->tally)));
  add_int (json, "live_reads", (gint64) self->tally->live_reads);
  add_int (json, "joined", (gint64) self->tally->joined);
  add_int (json, "guessed", (gint64) self->tally->guessed);
  add_int (json, "guessed_frames", (gint64) self->tally->guessed_frames);
  add_states (json, self->tally->by_status);
  begin_object (json, "lost");
  add_int (json, "samples", (gint64) (lost_samples (self) - self->drain.over_budget));
  add_bool (json, "exact", self->source.has_lost_counter);
  add_int (json, "sideband", (gint64) self->source_stats.lost_sideband);
  add_int (json, "over_budget", (gint64) self->drain.over_budget);
  add_int (json, "malformed", (gint64) self->source_stats.malformed);
  add_double (json, "percent", lu_summary_loss_percent (self));
  json_builder_end_object (json);
  add_int (json, "throttled", (gint64) self->drain.throttled);
  add_int (json, "max_sample_rate", (gint64) self->max_sample_rate);
  add_int (json, "cpu_changes", self->source_stats.cpu_changes);
  add_int (json, "expected", (gint64) self->expected_samples);
  if (self->expected_samples > 0)
    add_int (json, "unexplained", unexplained (self));
  add_int (json, "own_samples", (gint64) self->drain.own);
  add_int (json, "other_samples", (gint64) self->drain.others);
}

static void
add_walks (JsonBuilder *json, const LuDrainProgress *drain)
{
  begin_object (json, "walks");
  add_int (json, "in_place", (gint64) drain->walked);
  add_int (json, "by_worker", (gint64) drain->handed_on);
  add_int (json, "refused", (gint64) drain->over_worker);
  json_builder_end_object (json);
}

static void
add_check (JsonBuilder *json, const LuUnwinderCounts *counts)
{
  if (counts->compared == 0)
    return;
  begin_object (json, "check");
  add_int (json, "compared", (gint64) counts->compared);
  add_int (json, "frames_differ", (gint64) counts->frames_differ);
  add_int (json, "states_differ", (gint64) counts->states_differ);
  if (counts->walked_compared > 0)
    {
      add_int (json, "kernel_compared", (gint64) counts->walked_compared);
      add_int (json, "kernel_differ", (gint64) counts->walked_differ);
    }
  json_builder_end_object (json);
}

#define X(NAME, key, title) key,
static const char *const reason_keys[] = { LU_BPF_REASON_LIST (X) };
#undef X
#define X(NAME, key, title) title,
static const char *const reason_titles[] = { LU_BPF_REASON_LIST (X) };
#undef X

static guint64
n_timed (const struct lu_bpf_counters *counters)
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

static guint64
quantile (const struct lu_bpf_counters *counters, double share)
{
  guint64 n = n_timed (counters), sum = 0;
  guint i = 0;

  for (i = 0; i + 1 < LU_BPF_N_BUCKETS; i++)
    {
      sum += counters->buckets[i];
      if ((double) sum >= share * (double) n)
        break;
    }
  return bucket_ns (i);
}

static void
add_reasons (JsonBuilder *json, const guint64 reasons[LU_BPF_N_REASONS])
{
  begin_object (json, "reasons");
  for (guint i = 0; i < LU_BPF_N_REASONS; i++)
    if (reasons[i] > 0)
      add_int (json, reason_keys[i], (gint64) reasons[i]);
  json_builder_end_object (json);
}

/* What the walks read. */
static void
add_maps (JsonBuilder *json, const LuKernelWalksStats *kernel)
{
  const LuBpfMapsStats *maps = &kernel->maps;

  add_int (json, "memory_bytes", (gint64) maps->memory_bytes);
  add_int (json, "entries", maps->entries);
  add_int (json, "entries_max", maps->max_entries);
  add_int (json, "table_bytes", (gint64) maps->table_bytes);
  add_int (json, "mapping_bytes", (gint64) maps->mapping_bytes);
  add_int (json, "tables", maps->n_tables);
  add_int (json, "rules", maps->n_rules);
  add_int (json, "processes", maps->n_processes);
  add_int (json, "published", (gint64) maps->published);
  add_int (json, "evicted", (gint64) maps->evicted);
  add_int (json, "refused_tables", (gint64) maps->refused_tables);
  add_int (json, "refused_rules", (gint64) maps->refused_rules);
  add_int (json, "refused_modules", (gint64) maps->refused_modules);
  add_int (json, "refused_mappings", (gint64) maps->refused_mappings);
  add_int (json, "refused_processes", (gint64) maps->refused_processes);
}

static void
add_run_times (JsonBuilder *json, const LuKernelWalksStats *kernel)
{
  guint64 n_walks = n_timed (&kernel->counters);

  if (kernel->n_runs > 0)
    {
      add_int (json, "runs", (gint64) kernel->n_runs);
      add_double (json, "ns_per_run", ratio (kernel->run_ns, kernel->n_runs));
    }
  if (n_walks == 0)
    return;
  begin_object (json, "walk_ns");
  add_int (json, "p50", (gint64) quantile (&kernel->counters, 0.5));
  add_int (json, "p90", (gint64) quantile (&kernel->counters, 0.9));
  add_int (json, "p99", (gint64) quantile (&kernel->counters, 0.99));
  add_int (json, "max", (gint64) quantile (&kernel->counters, 1.0));
  add_double (json, "frames", ratio (kernel->counters.n_frames, n_walks));
  json_builder_end_object (json);
}

static void
add_kernel_walks (JsonBuilder *json, const LuSummary *self)
{
  const LuKernelWalksStats *kernel = &self->kernel;

  if (kernel->reason == NULL)
    return;
  begin_object (json, "kernel_walks");
  add_bool (json, "active", kernel->is_active);
  add_string (json, "reason", kernel->reason);
  if (kernel->is_active)
    {
      add_int (json, "stacks", (gint64) self->drain.in_kernel);
      add_double (json, "percent", kernel_percent (self));
      add_int (json, "stale", (gint64) self->drain.stale);
      add_int (json, "strange", (gint64) self->drain.strange);
      add_int (json, "frames", (gint64) kernel->counters.n_frames);
      add_int (json, "guessed_frames", (gint64) kernel->counters.n_guessed);
      add_int (json, "in_kernel_mode", (gint64) kernel->counters.n_kernel_mode);
      add_int (json, "verified_instructions", kernel->verified);
      add_reasons (json, kernel->counters.reasons);
      add_run_times (json, kernel);
      add_maps (json, kernel);
    }
  json_builder_end_object (json);
}

static void
add_tables (JsonBuilder *json, const LuTablesStats *tables)
{
  begin_object (json, "tables");
  add_int (json, "loaded", (gint64) tables->n_loaded);
  add_int (json, "built", (gint64) tables->n_built);
  add_int (json, "evicted", (gint64) tables->n_evicted);
  add_int (json, "stored", (gint64) tables->n_saved);
  add_int (json, "refused", (gint64) tables->n_refused);
  add_int (json, "single_rules", (gint64) tables->n_misses);
  add_int (json, "bytes", (gint64) tables->bytes);
  add_int (json, "bytes_max", (gint64) tables->bytes_max);
  json_builder_end_object (json);
}

static void
add_settings (JsonBuilder *json, const LuSummary *self)
{
  begin_object (json, "cpu");
  add_double (json, "self_seconds", self->cpu_seconds);
  add_double (json, "us_per_sample", us_per_sample (self));
  json_builder_end_object (json);
  begin_object (json, "stack");
  add_int (json, "size", self->drain.stack_size);
  add_int (json, "grown", self->drain.stack_grown);
  add_int (json, "used_max", (gint64) self->tally->stack_used_max);
  add_int (json, "needed_max", (gint64) self->tally->stack_needed_max);
  add_int (json, "cut_off_at_last_size",
           (gint64) lu_tally_truncated_at (self->tally, self->drain.stack_size));
  add_int (json, "size_for_99_percent", (gint64) lu_tally_stack_size_for (self->tally, 99.0));
  json_builder_end_object (json);
  begin_object (json, "source");
  add_string (json, "event", self->source.event_name);
  add_double (json, "frequency", self->source.frequency);
  add_bool (json, "cpu_wide", self->source.cpu_wide);
  add_bool (json, "kernel", self->source.kernel_samples);
  add_int (json, "rings", self->source.n_rings);
  add_int (json, "ring_bytes", (gint64) self->source.ring_bytes);
  add_int (json, "ring_bytes_per_sample", (gint64) ring_bytes_per_sample (self));
  if (self->source.trouble != NULL)
    add_string (json, "trouble", self->source.trouble);
  json_builder_end_object (json);
  add_int (json, "rss_anon_bytes", (gint64) self->rss_anon_bytes);
  add_double (json, "seconds", self->seconds);
  add_string (json, "file", self->output);
  add_int (json, "bytes", (gint64) self->output_bytes);
  if (self->n_files > 0)
    add_int (json, "files", self->n_files);
}

char *
lu_summary_to_json (const LuSummary *self)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  json_builder_begin_object (json);
  add_counts (json, self);
  add_walks (json, &self->drain);
  add_check (json, &self->engine_counts);
  add_kernel_walks (json, self);
  add_tables (json, &self->tables);
  add_settings (json, self);
  add_modules (json, self->tally);
  json_builder_end_object (json);
  root = json_builder_get_root (json);
  return json_to_string (root, FALSE);
}

static void
print_states (const LuSummary *self, gboolean excluded)
{
  guint64 walked = lu_tally_walked (self->tally);

  for (guint i = LU_STATUS_COMPLETE + 1; i < LU_N_STATUS; i++)
    {
      guint64 n = self->tally->by_status[i];

      if (n == 0 || !!lu_status_is_excluded ((LuStatus) i) != !!excluded)
        continue;
      if (excluded)
        fprintf (stderr, "  %10" PRIu64 "          %s%s\n", n, lu_status_title ((LuStatus) i),
                 _ (" (not counted in complete %)"));
      else
        fprintf (stderr, "  %10" PRIu64 "  %5.2f %%  %s\n", n,
                 walked > 0 ? 100.0 * (double) n / (double) walked : 0.0,
                 lu_status_title ((LuStatus) i));
    }
}

static void
print_modules (const LuSummary *self)
{
  g_autoptr (GPtrArray) modules = lu_tally_modules (self->tally);

  if (modules->len == 0)
    return;
  fprintf (stderr, "%s\n", _ ("Incomplete stacks ended in:"));
  for (guint i = 0; i < modules->len && i < MAX_MODULES_PRINTED; i++)
    {
      const LuModuleTally *module = g_ptr_array_index (modules, i);
      g_autofree char *path = g_strescape (module->path, NULL);

      fprintf (stderr, "  %10" PRIu64 "  %s:", module->total, path);
      for (guint k = 0; k < LU_N_STATUS; k++)
        if (module->by_status[k] > 0)
          fprintf (stderr, " %s %" PRIu64, lu_status_title ((LuStatus) k), module->by_status[k]);
      fputc ('\n', stderr);
    }
}

/* Which size of the copy would have sufficed. */
static void
print_stack_advice (const LuSummary *self)
{
  guint64 truncated = self->tally->by_status[LU_STATUS_TRUNCATED_COPY];
  guint64 at_last = lu_tally_truncated_at (self->tally, self->drain.stack_size);

  if (truncated > at_last)
    fprintf (stderr,
             ngettext ("%" PRIu64 " stack was cut off before the copy grew to %u bytes: "
                       "--stack-size %u keeps the first ones whole too.\n",
                       "%" PRIu64 " stacks were cut off before the copy grew to %u bytes: "
                       "--stack-size %u keeps the first ones whole too.\n",
                       truncated - at_last),
             truncated - at_last, self->drain.stack_size, self->drain.stack_size);
  if (at_last == 0)
    return;
  if (self->drain.stack_size < LU_STACK_SIZE_MAX)
    fprintf (stderr,
             self->source.live
                 ? ngettext ("%" PRIu64 " stack was cut off by the copy of %u bytes; the next "
                             "one up is --stack-size %u.\n",
                             "%" PRIu64 " stacks were cut off by the copy of %u bytes; the next "
                             "one up is --stack-size %u.\n",
                             at_last)
                 : ngettext ("%" PRIu64 " stack was cut off by the copy of %u bytes; the next "
                             "one up is perf record --call-graph dwarf,%u.\n",
                             "%" PRIu64 " stacks were cut off by the copy of %u bytes; the next "
                             "one up is perf record --call-graph dwarf,%u.\n",
                             at_last),
             at_last, self->drain.stack_size, MIN (self->drain.stack_size * 2, LU_STACK_SIZE_MAX));
  else
    fprintf (stderr,
             ngettext ("%" PRIu64 " stack needs more than %u bytes, the most the kernel copies.\n",
                       "%" PRIu64 " stacks need more than %u bytes, the most the kernel copies.\n",
                       at_last),
             at_last, self->drain.stack_size);
}

static void
print_losses (const LuSummary *self)
{
  guint64 lost = lost_samples (self);

  fprintf (stderr, _ ("Lost: %" PRIu64 "%s (%.2f %%)"), lost,
           self->source.has_lost_counter || !self->source.live
               ? ""
               : _ (" at least, this kernel has no exact count"),
           lu_summary_loss_percent (self));
  fprintf (stderr,
           ngettext ("; throttled: %" PRIu64 " time", "; throttled: %" PRIu64 " times",
                     self->drain.throttled),
           self->drain.throttled);
  if (self->expected_samples > 0)
    fprintf (stderr, _ ("; expected %" PRIu64 ", unexplained %" PRId64), self->expected_samples,
             unexplained (self));
  fputc ('\n', stderr);
  if (self->source_stats.lost_sideband > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " record about processes was lost; /proc was read again.\n",
                       "%" PRIu64 " records about processes were lost; /proc was read again.\n",
                       self->source_stats.lost_sideband),
             self->source_stats.lost_sideband);
  if (self->source_stats.cpu_changes > 0)
    fprintf (stderr,
             ngettext ("CPUs came or went %u time.\n", "CPUs came or went %u times.\n",
                       self->source_stats.cpu_changes),
             self->source_stats.cpu_changes);
  if (self->source.live && self->max_sample_rate > 0
      && (double) self->max_sample_rate < self->source.frequency)
    fprintf (stderr,
             _ ("The kernel lowered its limit to %" PRIu64 " samples per second "
                "(kernel.perf_event_max_sample_rate).\n"),
             self->max_sample_rate);
  if (self->drain.throttled > 0)
    fprintf (stderr, "%s\n",
             _ ("The kernel lowered the rate (kernel.perf_cpu_time_max_percent): try a lower "
                "--frequency."));
}

static void
print_notes (const LuSummary *self)
{
  if (self->source.trouble != NULL)
    fprintf (stderr, _ ("Incomplete input: %s.\n"), self->source.trouble);
  if (self->source.has_chains_only)
    fprintf (stderr, "%s\n",
             _ ("Stacks are the callchains of the file: there is nothing in it to unwind, and "
                "nobody knows which of them are complete."));
  if (!self->source.live)
    return;
  if (!self->source.kernel_samples)
    fprintf (stderr, "%s\n",
             _ ("Kernel mode was not sampled (no permission): time in the kernel is missing."));
  if (!self->source.cpu_wide)
    fprintf (stderr, "%s\n",
             _ ("Recorded per task (no permission for more): short-lived children are "
                "under-sampled."));
  if (self->source.ring_size < self->source.ring_size_wanted)
    fprintf (stderr,
             _ ("The rings are %zu KiB each instead of %zu KiB: the limit on locked memory (ulimit "
                "-l) is reached.\n"),
             self->source.ring_size >> 10, self->source.ring_size_wanted >> 10);
}

/* What the drain could not do in place, where that is worth a thought. */
static void
print_walks (const LuSummary *self)
{
  const LuDrainProgress *drain = &self->drain;

  if (drain->walked > 0 && drain->handed_on * WORTH_TELLING > drain->taken)
    fprintf (stderr,
             ngettext ("%" PRIu64 " sample was beyond compiled rules, or of a file not open yet, "
                       "and went to the worker.\n",
                       "%" PRIu64 " samples were beyond compiled rules, or of files not open yet, "
                       "and went to the worker.\n",
                       drain->handed_on),
             drain->handed_on);
  if (drain->over_worker > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " sample found no room on its way to the worker.\n",
                       "%" PRIu64 " samples found no room on their way to the worker.\n",
                       drain->over_worker),
             drain->over_worker);
}

/* Those for which there was a copy instead, most first, as far as they matter. */
static void
print_reasons (const LuSummary *self)
{
  const guint64 *reasons = self->kernel.counters.reasons;
  gboolean is_told[LU_BPF_N_REASONS] = { FALSE };
  const char *between = "";

  for (guint k = 0; k < MAX_REASONS_PRINTED; k++)
    {
      guint most = LU_BPF_REASON_NO_PROCESS;

      for (guint i = most; i < LU_BPF_N_REASONS; i++)
        if (!is_told[i] && (is_told[most] || reasons[i] > reasons[most]))
          most = i;
      if (is_told[most] || reasons[most] == 0)
        break;
      is_told[most] = TRUE;
      fprintf (stderr, "%s%s %" PRIu64, between, reason_titles[most], reasons[most]);
      between = ", ";
    }
}

static void
print_walk_times (const LuKernelWalksStats *kernel)
{
  if (n_timed (&kernel->counters) == 0)
    return;
  fprintf (stderr,
           _ ("A walk took %.1f µs (median; 90 %%: %.1f, 99 %%: %.1f, longest: %.1f) for %.1f "
              "frames"),
           (double) quantile (&kernel->counters, 0.5) / 1e3,
           (double) quantile (&kernel->counters, 0.9) / 1e3,
           (double) quantile (&kernel->counters, 0.99) / 1e3,
           (double) quantile (&kernel->counters, 1.0) / 1e3,
           ratio (kernel->counters.n_frames, n_timed (&kernel->counters)));
  if (kernel->n_runs > 0)
    fprintf (stderr, _ ("; the program ran %" PRIu64 " times, %.0f ns each"), kernel->n_runs,
             ratio (kernel->run_ns, kernel->n_runs));
  fputc ('\n', stderr);
}

static void
print_kernel_walks (const LuSummary *self)
{
  const LuKernelWalksStats *kernel = &self->kernel;

  if (!kernel->is_active)
    return;
  fprintf (stderr,
           _ ("Walked in the kernel: %.2f %% of the stacks; %" PRIu64
              " bytes in the rings per sample; %.1f MB of maps"),
           kernel_percent (self), ring_bytes_per_sample (self),
           (double) kernel->maps.memory_bytes / 1e6);
  if (self->drain.stale > 0)
    fprintf (stderr, _ ("; %" PRIu64 " with mappings that had changed"), self->drain.stale);
  if (lu_tally_walked (self->tally) > self->drain.in_kernel)
    {
      fputs (_ (". Copied instead: "), stderr);
      print_reasons (self);
    }
  fputc ('\n', stderr);
  print_walk_times (kernel);
}

static void
print_tables (const LuTablesStats *tables)
{
  if (tables->n_loaded + tables->n_built == 0)
    return;
  fprintf (stderr,
           _ ("Unwind tables of whole files: %" PRIu64 " loaded, %" PRIu64 " compiled, %" PRIu64
              " dropped for lack of room (--table-memory); %.1f MB at most"),
           tables->n_loaded, tables->n_built, tables->n_evicted, (double) tables->bytes_max / 1e6);
  if (tables->n_refused > 0)
    fprintf (stderr, _ ("; %" PRIu64 " stored ones are of no use"), tables->n_refused);
  fputc ('\n', stderr);
}

static void
print_check (const LuUnwinderCounts *counts)
{
  if (counts->compared > 0)
    fprintf (stderr,
             _ ("Engines compared on %" PRIu64 " samples: frames differ in %" PRIu64
                ", only the state in %" PRIu64 "\n"),
             counts->compared, counts->frames_differ, counts->states_differ);
  if (counts->walked_compared > 0)
    fprintf (stderr,
             _ ("Walks in the kernel compared on %" PRIu64 " samples: %" PRIu64 " differ\n"),
             counts->walked_compared, counts->walked_differ);
}

void
lu_summary_print (const LuSummary *self)
{
  guint64 samples = self->tally->samples;

  fprintf (stderr,
           _ ("%" PRIu64 " samples in %.1f s (%s), %.2f %% of %" PRIu64 " stacks complete\n"),
           samples, self->seconds, self->source.event_name, lu_tally_complete_percent (self->tally),
           lu_tally_walked (self->tally));
  print_states (self, FALSE);
  print_states (self, TRUE);
  if (self->tally->live_reads > 0)
    fprintf (stderr,
             _ ("  %10" PRIu64 "          needed a read of the live process (not "
                "counted as complete)\n"),
             self->tally->live_reads);
  if (self->tally->joined > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " of the complete stacks was cut off by the copy and got its "
                       "outermost frames from other samples of the same thread (--no-join).\n",
                       "%" PRIu64 " of the complete stacks were cut off by the copy and got their "
                       "outermost frames from other samples of the same thread (--no-join).\n",
                       self->tally->joined),
             self->tally->joined);
  if (self->tally->guessed > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " of the complete stacks leads through code without unwind "
                       "information, by frame pointer.\n",
                       "%" PRIu64 " of the complete stacks lead through code without unwind "
                       "information, by frame pointer.\n",
                       self->tally->guessed),
             self->tally->guessed);
  print_kernel_walks (self);
  print_walks (self);
  print_check (&self->engine_counts);
  print_modules (self);
  print_stack_advice (self);
  print_losses (self);
  print_notes (self);
  print_tables (&self->tables);
  fprintf (stderr, _ ("Cost: %.1f µs of CPU time per sample (%.2f s in all)"), us_per_sample (self),
           self->cpu_seconds);
  if (self->drain.seen > 0 && self->source.live)
    fprintf (stderr, _ ("; live-unwinder itself was hit by %.2f %% of all samples"),
             100.0 * (double) self->drain.own / (double) self->drain.seen);
  fputc ('\n', stderr);
  if (self->n_files > 0)
    fprintf (stderr,
             ngettext ("%s: %u file of each output, %.1f MB\n",
                       "%s: %u files of each output, %.1f MB\n", self->n_files),
             self->output, self->n_files, (double) self->output_bytes / 1e6);
  else if (lu_format_of (self->output) != NULL)
    fprintf (stderr, "%s: %.1f MB\n", self->output, (double) self->output_bytes / 1e6);
  else if (strcmp (self->output, "-") != 0)
    fprintf (stderr, _ ("%s: %.1f MB. Open it with: sysprof %s   or: live-unwinder report %s\n"),
             self->output, (double) self->output_bytes / 1e6, self->output, self->output);
}
