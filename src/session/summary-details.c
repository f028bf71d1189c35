/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-details.c - prints what --verbose adds to the summary: how each stack ended, how it was
 * unwound, and what that cost. See summary.h.
 *
 * Every end state is printed by name with its count. States that say nothing about unwinding (no
 * registers or no stack in the sample) are not part of "complete %". */

#include "summary.h"

#include <inttypes.h>
#include <stdio.h>

/* One sample in this many is worth a line. */
#define WORTH_TELLING       20
#define MAX_MODULES_PRINTED 5
#define MAX_REASONS_PRINTED 4

#define X(NAME, key, title) title,
static const char *const reason_titles[] = { LU_BPF_REASON_LIST (X) };
#undef X

static void
print_states (const LuSummary *self, gboolean excluded)
{
  guint64 unwindable = lu_statistics_unwindable (self->statistics);

  for (guint i = LU_STATUS_COMPLETE + 1; i < LU_N_STATUS; i++)
    {
      guint64 n = self->statistics->by_status[i];

      if (n == 0 || !!lu_status_is_excluded ((LuStatus) i) != !!excluded)
        continue;
      if (excluded)
        fprintf (stderr, "  %10" PRIu64 "          %s%s\n", n, lu_status_title ((LuStatus) i),
                 _ (" (not counted in complete %)"));
      else
        fprintf (stderr, "  %10" PRIu64 "  %5.2f %%  %s\n", n,
                 unwindable > 0 ? 100.0 * (double) n / (double) unwindable : 0.0,
                 lu_status_title ((LuStatus) i));
    }
}

static void
print_modules (const LuSummary *self)
{
  g_autoptr (GPtrArray) modules = lu_statistics_modules (self->statistics);

  if (modules->len == 0)
    return;
  fprintf (stderr, "%s\n", _ ("Incomplete stacks ended in:"));
  for (guint i = 0; i < modules->len && i < MAX_MODULES_PRINTED; i++)
    {
      const LuModuleStatistics *module = g_ptr_array_index (modules, i);
      g_autofree char *path = g_strescape (module->path, NULL);

      fprintf (stderr, "  %10" PRIu64 "  %s:", module->total, path);
      for (guint k = 0; k < LU_N_STATUS; k++)
        if (module->by_status[k] > 0)
          fprintf (stderr, " %s %" PRIu64, lu_status_title ((LuStatus) k), module->by_status[k]);
      fputc ('\n', stderr);
    }
}

static void
print_losses (const LuSummary *self)
{
  guint64 lost = lu_summary_lost (self);
  guint64 lost_sideband = lu_summary_count (self, LU_COUNTER_LOST_SIDEBAND);
  guint64 throttled = lu_summary_count (self, LU_COUNTER_THROTTLED);
  guint cpu_changes = (guint) lu_summary_count (self, LU_COUNTER_CPU_CHANGES);

  fprintf (stderr, _ ("Lost: %" PRIu64 "%s"), lost,
           self->source.has_lost_counter || !self->source.live
               ? ""
               : _ (" at least, this kernel has no exact count"));
  if (lost + lu_summary_count (self, LU_COUNTER_SEEN) > 0)
    fprintf (stderr, " (%.2f %%)", lu_summary_loss_percent (self));
  fprintf (stderr,
           ngettext ("; throttled: %" PRIu64 " time", "; throttled: %" PRIu64 " times", throttled),
           throttled);
  if (self->expected_samples > 0)
    fprintf (stderr, _ ("; expected: %" PRIu64), self->expected_samples);
  fputc ('\n', stderr);
  if (lost_sideband > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " record about processes was lost; /proc was read again.\n",
                       "%" PRIu64 " records about processes were lost; /proc was read again.\n",
                       lost_sideband),
             lost_sideband);
  if (cpu_changes > 0)
    fprintf (stderr,
             ngettext ("CPUs went online or offline %u time.\n",
                       "CPUs went online or offline %u times.\n", cpu_changes),
             cpu_changes);
}

/* Mentions samples that the drain could not unwind itself, if they are many. */
static void
print_walks (const LuSummary *self)
{
  guint64 handed_on = lu_summary_count (self, LU_COUNTER_SENT_TO_WORKER);
  guint64 over_worker = lu_summary_count (self, LU_COUNTER_REFUSED_BY_WORKER);
  guint64 n_files = lu_summary_count (self, LU_COUNTER_FILES_WAITED);

  if (lu_summary_count (self, LU_COUNTER_FINISHED_IN_DRAIN) > 0
      && handed_on * WORTH_TELLING > lu_summary_count (self, LU_COUNTER_TAKEN))
    fprintf (stderr,
             ngettext ("%" PRIu64 " sample was beyond compiled rules, or of a file not open yet, "
                       "and went to the worker.\n",
                       "%" PRIu64 " samples were beyond compiled rules, or of files not open yet, "
                       "and went to the worker.\n",
                       handed_on),
             handed_on);
  if (over_worker > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " sample was dropped because the worker was behind.\n",
                       "%" PRIu64 " samples were dropped because the worker was behind.\n",
                       over_worker),
             over_worker);
  if (n_files > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " file had to wait because its process had used up its time for "
                       "opening files.\n",
                       "%" PRIu64 " files had to wait because their processes had used up their "
                       "time for opening files.\n",
                       n_files),
             n_files);
}

/* Prints the most frequent reasons why BPF did not unwind a stack. */
static void
print_reasons (const LuSummary *self)
{
  const guint64 *reasons = self->kernel.bpf.reasons;
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
  if (lu_summary_n_timed (&kernel->bpf) == 0)
    return;
  fprintf (stderr,
           _ ("A walk took %.1f µs (median; 90 %%: %.1f, 99 %%: %.1f, longest: %.1f) for %.1f "
              "frames"),
           (double) lu_summary_walk_ns (&kernel->bpf, 0.5) / 1e3,
           (double) lu_summary_walk_ns (&kernel->bpf, 0.9) / 1e3,
           (double) lu_summary_walk_ns (&kernel->bpf, 0.99) / 1e3,
           (double) lu_summary_walk_ns (&kernel->bpf, 1.0) / 1e3,
           lu_summary_ratio (kernel->bpf.values[LU_COUNTER_BPF_FRAMES],
                             lu_summary_n_timed (&kernel->bpf)));
  if (kernel->n_runs > 0)
    fprintf (stderr, _ ("; the program ran %" PRIu64 " times, %.0f ns each"), kernel->n_runs,
             lu_summary_ratio (kernel->run_ns, kernel->n_runs));
  fputc ('\n', stderr);
}

static void
print_kernel_walks (const LuSummary *self)
{
  const LuKernelWalksStats *kernel = &self->kernel;

  if (!kernel->is_active || lu_statistics_unwindable (self->statistics) == 0)
    return;
  fprintf (stderr,
           _ ("Unwound in the kernel: %.2f %% of the stacks; %" PRIu64
              " bytes in the rings per sample; %.1f MB of maps"),
           lu_summary_kernel_percent (self), lu_summary_ring_bytes (self),
           (double) lu_summary_count (self, LU_COUNTER_MAPS_MEMORY) / 1e6);
  if (lu_summary_count (self, LU_COUNTER_STALE) > 0)
    fprintf (stderr, _ ("; %" PRIu64 " with mappings that had changed"),
             lu_summary_count (self, LU_COUNTER_STALE));
  if (lu_statistics_unwindable (self->statistics) > lu_summary_count (self, LU_COUNTER_BPF_UNWOUND))
    {
      fputs (_ (". Copied instead: "), stderr);
      print_reasons (self);
    }
  fputc ('\n', stderr);
  print_walk_times (kernel);
}

static void
print_tables (const LuSummary *self)
{
  guint64 n_loaded = lu_summary_count (self, LU_COUNTER_TABLES_LOADED);
  guint64 n_built = lu_summary_count (self, LU_COUNTER_TABLES_BUILT);
  guint64 n_refused = lu_summary_count (self, LU_COUNTER_TABLES_REFUSED);

  if (n_loaded + n_built == 0)
    return;
  fprintf (stderr,
           _ ("Unwind tables of whole files: %" PRIu64 " loaded, %" PRIu64 " compiled, %" PRIu64
              " dropped for lack of room (--table-memory); %.1f MB at most"),
           n_loaded, n_built, lu_summary_count (self, LU_COUNTER_TABLES_EVICTED),
           (double) lu_summary_count (self, LU_COUNTER_TABLES_BYTES_MAX) / 1e6);
  if (n_refused > 0)
    fprintf (stderr, _ ("; %" PRIu64 " stored ones could not be used"), n_refused);
  fputc ('\n', stderr);
}

/* Prints how many stacks reached their end in another way than by unwind information alone. */
static void
print_helped (const LuSummary *self)
{
  guint64 live_reads = lu_summary_count (self, LU_COUNTER_LIVE_READS);
  guint64 joined = lu_summary_count (self, LU_COUNTER_JOINED);
  guint64 inferred = lu_summary_count (self, LU_COUNTER_INFERRED);
  guint64 with_functions = lu_summary_count (self, LU_COUNTER_WITH_FUNCTIONS);

  if (live_reads > 0)
    fprintf (stderr,
             _ ("  %10" PRIu64 "          needed a read of the live process (not "
                "counted as complete)\n"),
             live_reads);
  if (joined > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " of the complete stacks was cut off by the copy and got its "
                       "outermost frames from other samples of the same thread (--no-join).\n",
                       "%" PRIu64 " of the complete stacks were cut off by the copy and got their "
                       "outermost frames from other samples of the same thread (--no-join).\n",
                       joined),
             joined);
  if (with_functions > 0)
    fprintf (stderr,
             _ ("%" PRIu64 " stacks have functions of an interpreter: %" PRIu64
                " of these are cut, %" PRIu64
                " do not agree with the C stack and keep its frames; %" PRIu64
                " functions have no name.\n"),
             with_functions, lu_summary_count (self, LU_COUNTER_FUNCTIONS_PART),
             lu_summary_count (self, LU_COUNTER_FUNCTIONS_DIFFER),
             lu_summary_count (self, LU_COUNTER_FUNCTIONS_UNNAMED));
  if (inferred > 0)
    fprintf (stderr,
             ngettext ("%" PRIu64 " of the complete stacks leads through code without unwind "
                       "information, by frame pointer.\n",
                       "%" PRIu64 " of the complete stacks lead through code without unwind "
                       "information, by frame pointer.\n",
                       inferred),
             inferred);
}

static void
print_cost (const LuSummary *self)
{
  if (lu_summary_count (self, LU_COUNTER_TAKEN) > 0)
    fprintf (stderr, _ ("Cost: %.1f µs of CPU time per sample while recording, "),
             lu_summary_us_per_sample (self, self->recording_cpu_seconds));
  else
    fprintf (stderr, _ ("Cost: %.2f s of CPU time while recording, "), self->recording_cpu_seconds);
  fprintf (stderr, _ ("%.2f s with start, end and names"), self->cpu_seconds);
  if (lu_summary_count (self, LU_COUNTER_SEEN) > 0 && self->source.live)
    fprintf (stderr, _ ("; %.2f %% of all samples hit live-unwinder itself"),
             100.0 * (double) lu_summary_count (self, LU_COUNTER_OWN)
                 / (double) lu_summary_count (self, LU_COUNTER_SEEN));
  fputc ('\n', stderr);
}

void
lu_summary_print_details (const LuSummary *self)
{
  guint64 unwindable = lu_statistics_unwindable (self->statistics);

  fprintf (stderr, _ ("Event: %s"), self->source.events[0].name);
  if (unwindable > 0)
    fprintf (stderr, _ ("; %.2f %% of %" PRIu64 " stacks complete"),
             lu_statistics_complete_percent (self->statistics), unwindable);
  fputc ('\n', stderr);
  print_states (self, FALSE);
  print_states (self, TRUE);
  print_helped (self);
  print_kernel_walks (self);
  print_walks (self);
  print_modules (self);
  print_losses (self);
  print_tables (self);
  print_cost (self);
}
