/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary.c - prints the summary of a recording; see summary.h.
 *
 * The first line says what was recorded and where it is, the last one what to do with it. Between
 * them stands only what a user can act on; summary-details.c prints the rest for --verbose. */

#include "summary.h"

#include "interp/interp.h"
#include "viewer.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

/* Shares, in percent, above which something is worth a line. */
#define WORTH_TRUNCATED   1.0
#define WORTH_LOST        1.0
#define WORTH_INCOMPLETE  5.0
#define WORTH_UNEXPLAINED 5.0
/* The sampling rate is not exact, so a smaller difference says nothing. */
#define NOISE_OF_EXPECTED 20

static double
percent (guint64 value, guint64 of)
{
  return 100.0 * lu_summary_ratio (value, of);
}

/* Returns "12,345". A locale that does not group digits, as that of programmers, gets commas if
 * they cannot be taken for a decimal point. */
static char *
grouped (guint64 value)
{
  const struct lconv *conventions = localeconv ();
  const char *separator = conventions->thousands_sep;
  g_autofree char *digits = g_strdup_printf ("%" PRIu64, value);
  GString *text = g_string_new (NULL);
  gsize n = strlen (digits);

  if (separator[0] == 0 && strcmp (conventions->decimal_point, ".") == 0)
    separator = ",";
  for (gsize i = 0; i < n; i++)
    {
      if (i > 0 && (n - i) % 3 == 0)
        g_string_append (text, separator);
      g_string_append_c (text, digits[i]);
    }
  return g_string_free (text, FALSE);
}

static char *
size_text (guint64 bytes)
{
  return bytes < 100000 ? g_strdup_printf (_ ("%.0f kB"), ceil ((double) bytes / 1e3))
                        : g_strdup_printf (_ ("%.1f MB"), (double) bytes / 1e6);
}

/* The first line */

static void
print_completeness (const LuSummary *self)
{
  double complete = lu_statistics_complete_percent (self->statistics);
  /* rounded down, so that only all is 100 % */
  g_autofree char *text =
      g_strdup_printf (complete >= 100.0 ? "%.0f" : "%.1f", floor (complete * 10.0) / 10.0);

  if (self->source.has_chains_only)
    fputs (_ (", with the callchains of the file"), stderr);
  else if (lu_statistics_unwindable (self->statistics) == 0)
    fputs (_ (", no user stack to unwind"), stderr);
  else
    fprintf (stderr, _ (", %s %% complete"), text);
}

static void
print_lost (const LuSummary *self)
{
  gboolean is_exact = self->source.has_lost_counter || !self->source.live;
  guint64 lost = lu_summary_lost (self);
  g_autofree char *count = grouped (lost);

  if (lost == 0)
    fputs (is_exact ? _ (", none lost") : _ (", no loss known"), stderr);
  else
    fprintf (stderr, is_exact ? _ (", %s lost (%.2f %%)") : _ (", at least %s lost (%.2f %%)"),
             count, lu_summary_loss_percent (self));
}

static void
print_outputs (const LuSummary *self)
{
  const char *between = " → ";

  for (guint i = 0; self->outputs[i] != NULL; i++)
    {
      g_autofree char *size = size_text (lu_summary_output_bytes (self, i));

      if (strcmp (self->outputs[i], "-") == 0)
        continue;
      fprintf (stderr, "%s%s", between, self->outputs[i]);
      if (self->n_files == 0)
        fprintf (stderr, " (%s)", size);
      between = ", ";
    }
  if (self->n_files > 0)
    {
      g_autofree char *size = size_text (self->output_bytes);

      fprintf (stderr,
               ngettext (" (%u file of each, %s)", " (%u files of each, %s)", self->n_files),
               self->n_files, size);
    }
}

static void
print_headline (const LuSummary *self)
{
  guint64 samples = lu_summary_count (self, LU_COUNTER_SAMPLES);
  g_autofree char *count = grouped (samples);

  fprintf (stderr, ngettext ("%s sample in %.1f s", "%s samples in %.1f s", samples), count,
           self->seconds);
  if (samples > 0)
    print_completeness (self);
  print_lost (self);
  print_outputs (self);
  fputc ('\n', stderr);
}

/* The lines that a user can act on */

/* Recommends a size of the stack copy. */
static void
print_stack_advice (const LuSummary *self)
{
  guint64 truncated = self->statistics->by_status[LU_STATUS_TRUNCATED_COPY];
  guint64 at_last = lu_statistics_truncated_at (self->statistics, self->stack_size);

  if (truncated > at_last)
    fprintf (stderr,
             ngettext ("%" PRIu64 " stack was cut off before the copy grew to %u bytes: "
                       "--stack-size %u keeps the first ones whole too.\n",
                       "%" PRIu64 " stacks were cut off before the copy grew to %u bytes: "
                       "--stack-size %u keeps the first ones whole too.\n",
                       truncated - at_last),
             truncated - at_last, self->stack_size, self->stack_size);
  if (at_last == 0)
    return;
  if (self->stack_size < LU_STACK_SIZE_MAX)
    fprintf (stderr,
             self->source.live
                 ? ngettext ("%" PRIu64 " stack was cut off by the copy of %u bytes; the next "
                             "larger one is --stack-size %u.\n",
                             "%" PRIu64 " stacks were cut off by the copy of %u bytes; the next "
                             "larger one is --stack-size %u.\n",
                             at_last)
                 : ngettext ("%" PRIu64 " stack was cut off by the copy of %u bytes; the next "
                             "larger one is perf record --call-graph dwarf,%u.\n",
                             "%" PRIu64 " stacks were cut off by the copy of %u bytes; the next "
                             "larger one is perf record --call-graph dwarf,%u.\n",
                             at_last),
             at_last, self->stack_size, MIN (self->stack_size * 2, LU_STACK_SIZE_MAX));
  else
    fprintf (stderr,
             ngettext ("%" PRIu64 " stack needs more than %u bytes, the most the kernel copies.\n",
                       "%" PRIu64 " stacks need more than %u bytes, the most the kernel copies.\n",
                       at_last),
             at_last, self->stack_size);
}

/* Names the end states that take 1 % or more of the stacks. */
static void
print_incomplete (const LuSummary *self)
{
  guint64 unwindable = lu_statistics_unwindable (self->statistics);
  const char *between = "";

  fputs (_ ("Incomplete stacks: "), stderr);
  for (guint i = LU_STATUS_COMPLETE + 1; i < LU_N_STATUS; i++)
    {
      double share = percent (self->statistics->by_status[i], unwindable);

      if (lu_status_is_excluded ((LuStatus) i) || share < 1.0)
        continue;
      fprintf (stderr, "%s%s %.1f %%", between, lu_status_title ((LuStatus) i), share);
      between = ", ";
    }
  fprintf (stderr, "%s\n", _ ("; --verbose tells in which files they end."));
}

static void
print_losses (const LuSummary *self)
{
  if (self->has_lost_of_others)
    fprintf (stderr, "%s\n",
             _ ("The kernel does not tell whose samples were lost: they may belong to processes "
                "that were not recorded."));
  if (self->source.ring_size < self->source.ring_size_wanted)
    fprintf (stderr,
             _ ("The rings are %zu KiB each instead of %zu KiB: the limit on locked memory (ulimit "
                "-l) is reached.\n"),
             self->source.ring_size >> 10, self->source.ring_size_wanted >> 10);
}

static void
print_rate (const LuSummary *self)
{
  if (self->source.live && self->max_sample_rate > 0
      && (double) self->max_sample_rate < self->source.frequency)
    fprintf (stderr,
             _ ("The kernel lowered its limit to %" PRIu64 " samples per second "
                "(kernel.perf_event_max_sample_rate).\n"),
             self->max_sample_rate);
  if (lu_summary_count (self, LU_COUNTER_THROTTLED) > 0)
    fprintf (stderr, "%s\n",
             _ ("The kernel lowered the rate (kernel.perf_cpu_time_max_percent): try a lower "
                "--frequency."));
}

static void
print_unexplained (const LuSummary *self)
{
  gint64 unexplained = lu_summary_unexplained (self);
  double share = percent ((guint64) ABS (unexplained), self->expected_samples);

  if (self->expected_samples == 0 || ABS (unexplained) < NOISE_OF_EXPECTED
      || share <= WORTH_UNEXPLAINED)
    return;
  fprintf (stderr,
           unexplained > 0 ? _ ("%.0f %% of the samples that the used CPU time should have given "
                                "are missing; the kernel reports no loss of them.\n")
                           : _ ("%.0f %% more samples came than the used CPU time should have "
                                "given.\n"),
           share);
}

/* Tells what a recording without privilege lacks. */
static void
print_rights (const LuSummary *self)
{
  if (!self->source.live)
    return;
  if (!self->source.kernel_samples && !self->source.cpu_wide)
    fprintf (stderr, "%s\n",
             _ ("No permission for more: time in the kernel is missing, and short-lived children "
                "are under-sampled (\"live-unwinder doctor\" tells the remedy)."));
  else if (!self->source.kernel_samples)
    fprintf (stderr, "%s\n",
             _ ("Kernel mode was not sampled (no permission): time in the kernel is missing."));
  else if (!self->source.cpu_wide)
    fprintf (stderr, "%s\n",
             _ ("Recorded per task (no permission for more): short-lived children are "
                "under-sampled."));
}

static void
print_check (const LuSummary *self)
{
  if (lu_summary_count (self, LU_COUNTER_COMPARED) > 0)
    fprintf (stderr,
             _ ("Engines compared on %" PRIu64 " samples: frames differ in %" PRIu64
                ", only the state in %" PRIu64 "\n"),
             lu_summary_count (self, LU_COUNTER_COMPARED),
             lu_summary_count (self, LU_COUNTER_FRAMES_DIFFER),
             lu_summary_count (self, LU_COUNTER_STATES_DIFFER));
  if (lu_summary_count (self, LU_COUNTER_BPF_COMPARED) > 0)
    fprintf (stderr,
             _ ("Stacks unwound in the kernel compared on %" PRIu64 " samples: %" PRIu64
                " differ; the kernel's own frames on %" PRIu64 ": %" PRIu64 " differ\n"),
             lu_summary_count (self, LU_COUNTER_BPF_COMPARED),
             lu_summary_count (self, LU_COUNTER_BPF_DIFFER),
             lu_summary_count (self, LU_COUNTER_KERNEL_FRAMES_COMPARED),
             lu_summary_count (self, LU_COUNTER_KERNEL_FRAMES_DIFFER));
}

/* Tells about interpreters whose functions could not be read or put into the stacks. */
static void
print_interpreters (const LuSummary *self)
{
  g_autofree char *versions = self->source.live ? lu_interp_unknown_versions () : NULL;
  guint64 samples = lu_summary_count (self, LU_COUNTER_WITH_FUNCTIONS);
  guint64 differ = lu_summary_count (self, LU_COUNTER_FUNCTIONS_DIFFER);

  if (self->kernel.interpreters_error != 0)
    fprintf (
        stderr,
        _ ("Functions of interpreters are not named: the BPF program that reads them could not "
           "be loaded (%s).\n"),
        g_strerror (-self->kernel.interpreters_error));
  if (versions != NULL)
    fprintf (stderr, _ ("Functions of %s are not named: these versions are not known.\n"),
             versions);
  if (percent (differ, samples) >= WORTH_INCOMPLETE)
    fprintf (
        stderr,
        _ ("In %.1f %% of the stacks with an interpreter, its functions and its C stack do not "
           "agree: these keep the C frames.\n"),
        percent (differ, samples));
}

static void
print_runtimes (const LuSummary *self)
{
  for (guint i = 0; i < LU_N_RUNTIMES; i++)
    {
      g_autofree char *hint =
          lu_runtimes_hint (&self->runtimes, i, lu_summary_count (self, LU_COUNTER_SAMPLES));

      if (hint != NULL)
        fprintf (stderr, "%s\n", hint);
    }
}

static void
print_warnings (const LuSummary *self, gboolean is_verbose)
{
  guint64 unwindable = lu_statistics_unwindable (self->statistics);
  guint64 truncated = self->statistics->by_status[LU_STATUS_TRUNCATED_COPY];
  double incomplete = 100.0 - lu_statistics_complete_percent (self->statistics);

  print_check (self);
  if (is_verbose || percent (truncated, unwindable) >= WORTH_TRUNCATED)
    print_stack_advice (self);
  if (!is_verbose && unwindable > 0 && !self->source.has_chains_only
      && incomplete - percent (truncated, unwindable) >= WORTH_INCOMPLETE)
    print_incomplete (self);
  if (lu_summary_loss_percent (self) >= (is_verbose ? DBL_MIN : WORTH_LOST))
    print_losses (self);
  print_rate (self);
  print_unexplained (self);
  print_runtimes (self);
  if (self->source.trouble != NULL)
    fprintf (stderr, _ ("Incomplete input: %s.\n"), self->source.trouble);
  if (self->source.has_chains_only)
    fprintf (stderr, "%s\n",
             _ ("The stacks are the callchains of the file, which has nothing to unwind; it is "
                "unknown which are complete."));
  print_interpreters (self);
  print_rights (self);
}

/* The last line */

static char *
quoted (const char *path)
{
  return path[strspn (path, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,:@%")] == 0
             ? g_strdup (path)
             : g_shell_quote (path);
}

/* Names a viewer only if it is there. */
static void
print_next (const LuSummary *self)
{
  const LuViewer viewer = self->viewer;
  g_autofree char *name = viewer.capture != NULL ? quoted (viewer.capture) : NULL;
  g_autofree char *page_name = viewer.page != NULL ? quoted (viewer.page) : NULL;

  if (self->n_files > 0 || (page_name == NULL && name == NULL))
    return;
  fputs (_ ("Next: "), stderr);
  if (viewer.program != NULL)
    fprintf (stderr, "%s %s", viewer.program, page_name != NULL ? page_name : name);
  else if (page_name != NULL)
    fprintf (stderr, _ ("open %s in a browser"), page_name);
  else
    fprintf (stderr, _ ("live-unwinder convert %s x.html (a page for a browser)"), name);
  if (name != NULL)
    fprintf (stderr, _ ("   or: live-unwinder report %s"), name);
  fputc ('\n', stderr);
}

void
lu_summary_print (const LuSummary *self, gboolean is_verbose)
{
  print_headline (self);
  if (is_verbose)
    lu_summary_print_details (self);
  print_warnings (self, is_verbose);
  if (lu_summary_count (self, LU_COUNTER_SAMPLES) > 0)
    print_next (self);
}
