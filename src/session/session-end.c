/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-end.c - the results of a recording: the summary of all of it, or of one period.
 *
 * A thread of its own calls this when the pipeline has stopped, so all counts are final; only a
 * period is described by the writer's thread, while the drain goes on. */

#include "config.h"

#include "session-private.h"

#include "base/clock.h"
#include "base/error.h"
#include "summary.h"
#include "viewer.h"

#include <stdio.h>

char *
lu_session_describe_period (const LuPart *part, gpointer user_data)
{
  LuSession *self = user_data;
  guint64 cpu_ns = lu_process_cpu_ns ();
  double cpu_seconds = (double) (cpu_ns - self->last_cpu_ns) / 1e9;
  LuSummary summary = { .statistics = &part->statistics,
                        .source = *lu_pipeline_source_info (self->pipeline),
                        .stack_size = lu_pipeline_stack_size (self->pipeline),
                        .seconds = (double) (part->end - part->begin) / 1e9,
                        .cpu_seconds = cpu_seconds,
                        .recording_cpu_seconds = cpu_seconds,
                        .outputs = part->paths,
                        .output_bytes = part->sink->ops->bytes_written (part->sink) };
  LuCounters now;

  lu_pipeline_get_progress (self->pipeline, &now, NULL);
  lu_counters_add (&summary.counters, &now);
  lu_counters_subtract (&summary.counters, &self->last_counters);
  lu_counters_add (&summary.counters, &part->statistics.counters);
  lu_summary_note_system (&summary);
  self->last_counters = now;
  self->last_cpu_ns = cpu_ns;
  return lu_summary_to_json (&summary);
}

/* Returns the CPU time of the processes of our own that have ended, those that fetch debug files
 * and read lines. It is unknown if COMMAND ends in the meantime. */
static guint64
helpers_cpu_ns (const LuSession *self)
{
  struct rusage usage;

  if ((self->options->command != NULL && !self->command_was_reaped)
      || getrusage (RUSAGE_CHILDREN, &usage) != 0)
    return 0;
  return lu_rusage_ns (&usage) - MIN (self->command_cpu_ns, lu_rusage_ns (&usage));
}

static void
fill_summary (LuSession *self, LuSummary *summary)
{
  lu_summary_init (summary, self->pipeline);
  summary->outputs = self->options->outputs;
  summary->viewer = self->viewer;
  summary->n_files = self->rotation != NULL ? lu_rotation_n_parts (self->rotation) : 0;
  lu_summary_set_expected (summary, self->options->all, self->command_cpu_ns);
}

static int
report_error (const GError *error)
{
  fprintf (stderr, "live-unwinder: %s\n", error->message);
  return LU_EXIT_FAILED;
}

/* A Sysprof client reads nothing after it has asked us to stop, and may exit at any time before. */
int
lu_session_failed (const LuSession *self, const GError *error)
{
  if (self->mode->has_client && g_error_matches (error, LU_ERROR, LU_ERROR_NO_READER))
    return 0;
  return report_error (error);
}

/* Returns whether the output needs more than the line that a client gets. */
static gboolean
has_reader (const LuSession *self)
{
  const LuOptions *options = self->options;

  return self->mode->has_summary || !options->quiet || options->stats == LU_STATS_JSON
         || options->fail_on_loss >= 0;
}

static int
end_for_client (LuSession *self)
{
  const char *metadata[] = { NULL };
  g_autoptr (GError) error = NULL;

  return lu_pipeline_finish (self->pipeline, metadata, &error) ? 0
                                                               : lu_session_failed (self, error);
}

static int
check_loss (const LuSession *self, const LuSummary *summary)
{
  double percent = lu_summary_loss_percent (summary);

  if (self->options->fail_on_loss < 0 || percent <= self->options->fail_on_loss)
    return 0;
  fprintf (stderr, _ ("live-unwinder: %.2f %% of the samples were lost, more than %.2f %%\n"),
           percent, self->options->fail_on_loss);
  return LU_EXIT_FAILED;
}

static void
print_summary (const LuSession *self, const LuSummary *summary)
{
  g_autofree char *json =
      self->options->stats == LU_STATS_JSON ? lu_summary_to_json (summary) : NULL;

  if (!self->options->quiet)
    lu_fetcher_print_summary (self->debuginfod);
  if (json != NULL)
    fprintf (stderr, "%s\n", json);
  else if (self->options->stats == LU_STATS_TEXT && !self->options->quiet)
    lu_summary_print (summary, self->options->verbose);
}

int
lu_session_report (LuSession *self)
{
  /* With --rotate each file has statistics of its own. */
  const char *key =
      self->rotation != NULL ? "live-unwinder.stats-of-all-files" : LU_SYSCAP_KEY_STATS;
  const char *metadata[3] = { NULL };
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  LuSummary summary;
  gboolean ok;

  if (!has_reader (self))
    return end_for_client (self);
  fill_summary (self, &summary);
  if (self->mode->has_summary || self->options->stats == LU_STATS_JSON)
    {
      json = lu_summary_to_json (&summary);
      metadata[0] = key;
      metadata[1] = json;
    }
  if (self->debuginfod != NULL)
    lu_debuginfod_allow (self->debuginfod);
  ok = lu_pipeline_finish (self->pipeline, metadata, &error);
  g_atomic_int_set (&self->is_naming, FALSE);
  lu_session_erase_status (self);
  summary.output_bytes = lu_pipeline_bytes_written (self->pipeline);
  summary.runtimes = self->runtimes;
  lu_summary_note_cost (&summary, helpers_cpu_ns (self));
  print_summary (self, &summary);
  if (!ok)
    return lu_session_failed (self, error);
  if (lu_counters_get (&summary.counters, LU_COUNTER_SAMPLES) > 0)
    lu_viewer_go (self->viewer_fd);
  else if (!self->options->quiet)
    fprintf (stderr, "live-unwinder: %s\n",
             _ ("nothing was sampled: what was recorded used no CPU time. If it should have, "
                "try \"live-unwinder doctor\"."));
  return check_loss (self, &summary);
}
