/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary.c - a recording's counts as a screenful of text; see summary.h.
 *
 * Every end state is printed by name with its count, those that say nothing about unwinding (no
 * registers, no stack in the sample) beside "complete %", not inside it. */

#include "summary.h"

#include "input/perf-event.h"
#include "output/format.h"
#include "summary-figures.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One part in this many. */
#define WORTH_TELLING       20
#define MAX_MODULES_PRINTED 5
#define MAX_REASONS_PRINTED 4

#define X(NAME, key, title) title,
static const char *const reason_titles[] = { LU_BPF_REASON_LIST (X) };
#undef X

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
  guint64 lost = lu_summary_lost (self);

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
             lu_summary_unexplained (self));
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
  if (lu_summary_n_timed (&kernel->counters) == 0)
    return;
  fprintf (stderr,
           _ ("A walk took %.1f µs (median; 90 %%: %.1f, 99 %%: %.1f, longest: %.1f) for %.1f "
              "frames"),
           (double) lu_summary_walk_ns (&kernel->counters, 0.5) / 1e3,
           (double) lu_summary_walk_ns (&kernel->counters, 0.9) / 1e3,
           (double) lu_summary_walk_ns (&kernel->counters, 0.99) / 1e3,
           (double) lu_summary_walk_ns (&kernel->counters, 1.0) / 1e3,
           lu_summary_ratio (kernel->counters.n_frames, lu_summary_n_timed (&kernel->counters)));
  if (kernel->n_runs > 0)
    fprintf (stderr, _ ("; the program ran %" PRIu64 " times, %.0f ns each"), kernel->n_runs,
             lu_summary_ratio (kernel->run_ns, kernel->n_runs));
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
           lu_summary_kernel_percent (self), lu_summary_ring_bytes (self),
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
             _ ("Walks in the kernel compared on %" PRIu64 " samples: %" PRIu64
                " differ; the kernel's own frames on %" PRIu64 ": %" PRIu64 " differ\n"),
             counts->walked_compared, counts->walked_differ, counts->kernel_compared,
             counts->kernel_differ);
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
  fprintf (stderr,
           _ ("Cost: %.1f µs of CPU time per sample while recording, %.2f s with start, end and "
              "names"),
           lu_summary_us_per_sample (self, self->recording_cpu_seconds), self->cpu_seconds);
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
