/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-end.c - what a recording came to: the summary of all of it, or of one period.
 *
 * The main thread asks here when drain, worker and writer have ended, so all counts are final; only
 * a period is described, by the writer's thread, while the drain goes on. */

#include "config.h"

#include "session-private.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "fetcher.h"
#include "input/perf-event.h"
#include "output/syscap.h"
#include "summary.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

guint64
lu_session_busy_ns (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/stat", 4096, NULL);
  unsigned long long user, nice, system, idle, iowait, irq, softirq;

  if (text == NULL
      || sscanf (text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                 &iowait, &irq, &softirq)
             != 7)
    return 0;
  return (user + nice + system + irq + softirq) * (1000000000u / (guint64) sysconf (_SC_CLK_TCK));
}

static guint64
rss_anon_bytes (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/self/status", 8192, NULL);
  const char *line = text != NULL ? strstr (text, "RssAnon:") : NULL;

  return line != NULL ? g_ascii_strtoull (line + strlen ("RssAnon:"), NULL, 10) * 1024 : 0;
}

double
lu_session_cpu_seconds (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
         + (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What came since `last`. */
static void
subtract_progress (LuDrainProgress *progress, const LuDrainProgress *last)
{
  progress->seen -= last->seen;
  progress->own -= last->own;
  progress->others -= last->others;
  progress->taken -= last->taken;
  progress->walked -= last->walked;
  progress->in_kernel -= last->in_kernel;
  progress->stale -= last->stale;
  progress->strange -= last->strange;
  progress->handed_on -= last->handed_on;
  progress->over_worker -= last->over_worker;
  progress->over_budget -= last->over_budget;
  progress->throttled -= last->throttled;
  progress->lost_samples -= last->lost_samples;
  progress->stack_grown -= last->stack_grown;
}

static guint64
lost_samples (LuSession *self)
{
  LuSource *source = lu_drain_source (self->drain);
  LuSourceStats stats;

  source->ops->get_stats (source, &stats);
  return stats.lost_samples;
}

char *
lu_session_describe_period (const LuPart *part, gpointer user_data)
{
  LuSession *self = user_data;
  double cpu = lu_session_cpu_seconds ();
  LuSummary summary = { .tally = &part->tally,
                        .source = self->source_info,
                        .seconds = (double) (part->end - part->begin) / 1e9,
                        .cpu_seconds = cpu - self->last_cpu_seconds,
                        .recording_cpu_seconds = cpu - self->last_cpu_seconds,
                        .output = part->paths[0],
                        .output_bytes = part->sink->ops->bytes_written (part->sink) };
  LuDrainProgress now;

  lu_drain_get_progress (self->drain, &now);
  if (g_thread_self () == self->main_thread) /* the drain has ended, so the source can be asked */
    now.lost_samples = lost_samples (self);
  summary.drain = now;
  subtract_progress (&summary.drain, &self->last_progress);
  summary.source_stats.lost_samples = summary.drain.lost_samples;
  summary.max_sample_rate = lu_perf_max_sample_rate ();
  summary.rss_anon_bytes = rss_anon_bytes ();
  self->last_progress = now;
  self->last_cpu_seconds = cpu;
  return lu_summary_to_json (&summary);
}

/* All that the CPUs did, but for ourselves and what is outside of our pid namespace. */
static guint64
expected_of_busy (const LuSummary *self, guint64 busy_ns)
{
  guint64 expected = (guint64) ((double) busy_ns / 1e9 * self->source.frequency);
  guint64 left_out = self->drain.own + self->drain.others
                     + self->kernel.counters.reasons[LU_BPF_REASON_NOT_FOLLOWED];

  return expected - MIN (left_out, expected);
}

static void
fill_summary (LuSession *self, LuSummary *summary)
{
  LuSource *source = lu_drain_source (self->drain);
  guint64 busy = lu_session_busy_ns ();

  *summary = (LuSummary){ .tally = lu_writer_tally (self->writer) };
  lu_drain_get_progress (self->drain, &summary->drain);
  source->ops->get_info (source, &summary->source);
  source->ops->get_stats (source, &summary->source_stats);
  summary->seconds = (double) (self->stop_us - self->start_us) / 1e6;
  summary->cpu_seconds = lu_session_cpu_seconds ();
  summary->recording_cpu_seconds = self->cpu_seconds_at_stop - self->cpu_seconds_at_start;
  summary->expected_samples = summary->source_stats.expected_samples;
  lu_worker_get_counts (self->worker, &summary->engine_counts);
  if (self->tables != NULL)
    lu_tables_get_stats (self->tables, &summary->tables);
  if (self->kernel_walks != NULL)
    lu_kernel_walks_get_stats (self->kernel_walks, &summary->kernel);
  if (self->options->all && self->busy_ns_at_start > 0)
    summary->expected_samples = expected_of_busy (summary, busy - self->busy_ns_at_start);
  summary->max_sample_rate = lu_perf_max_sample_rate ();
  summary->rss_anon_bytes = rss_anon_bytes ();
  summary->output = self->options->output;
  summary->output_bytes = lu_writer_bytes_written (self->writer);
  summary->n_files = self->rotation != NULL ? lu_rotation_n_parts (self->rotation) : 0;
}

static int
report_error (const GError *error)
{
  fprintf (stderr, "live-unwinder: %s\n", error->message);
  return LU_EXIT_FAILED;
}

/* A Sysprof client reads nothing more after it said stop, and may be gone at any time before. */
int
lu_session_failed (const LuSession *self, const GError *error)
{
  if (lu_options_is_helper (self->options) && g_error_matches (error, LU_ERROR, LU_ERROR_NO_READER))
    return 0;
  return report_error (error);
}

/* What the capture and --stats json tell of the recording; NULL: nothing. A client of a helper
 * reads nothing more by then, so a helper does without the library for it. */
static char *
describe_recording (const LuSession *self, const LuSummary *summary)
{
  g_autoptr (GError) error = NULL;

  if (lu_options_is_helper (self->options) && self->options->stats != LU_STATS_JSON)
    return NULL;
  if (!lu_json_is_available (&error))
    {
      fprintf (stderr, "live-unwinder: %s\n", error->message);
      return NULL;
    }
  return lu_summary_to_json (summary);
}

/* Whether somebody reads more than the line that a helper's client gets. */
static gboolean
has_reader (const LuOptions *options)
{
  return !lu_options_is_helper (options) || !options->quiet || options->stats == LU_STATS_JSON
         || options->fail_on_loss >= 0;
}

static int
end_for_client (LuSession *self)
{
  g_autofree char *line = lu_drain_progress_line (self->drain);
  const char *metadata[] = { NULL };
  g_autoptr (GError) error = NULL;
  gboolean ok = lu_writer_finish (self->writer, lu_monotonic_ns (), line, metadata, &error);

  return ok ? 0 : lu_session_failed (self, error);
}

int
lu_session_report (LuSession *self)
{
  LuSummary summary;
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  /* each of many files has its own */
  const char *key =
      self->rotation != NULL ? "live-unwinder.stats-of-all-files" : "live-unwinder.stats";
  const char *metadata[3] = { NULL };
  g_autofree char *line = NULL;
  gboolean ok;

  if (!has_reader (self->options))
    return end_for_client (self);
  fill_summary (self, &summary);
  if (lu_options_is_helper (self->options))
    line = lu_drain_progress_line (self->drain);
  json = describe_recording (self, &summary);
  metadata[0] = json != NULL ? key : NULL;
  metadata[1] = json;
  if (self->debuginfod != NULL)
    lu_debuginfod_allow (self->debuginfod);
  ok = lu_writer_finish (self->writer, summary.source.live ? lu_monotonic_ns () : 0, line, metadata,
                         &error);
  self->naming_us = 0;
  lu_session_erase_status (self);
  if (!self->options->quiet)
    lu_fetcher_print_summary (self->debuginfod);
  summary.output_bytes = lu_writer_bytes_written (self->writer);
  if (self->options->stats == LU_STATS_JSON && json != NULL)
    fprintf (stderr, "%s\n", json);
  else if (self->options->stats == LU_STATS_TEXT && !self->options->quiet)
    lu_summary_print (&summary);
  if (!ok)
    return lu_session_failed (self, error);
  if (summary.tally->samples == 0 && !self->options->quiet)
    fprintf (stderr, "live-unwinder: %s\n",
             _ ("nothing was sampled: what was recorded used no CPU time. If it should have, "
                "try \"live-unwinder doctor\"."));
  if (self->options->fail_on_loss >= 0
      && lu_summary_loss_percent (&summary) > self->options->fail_on_loss)
    {
      fprintf (stderr, _ ("live-unwinder: %.2f %% of the samples were lost, more than %.2f %%\n"),
               lu_summary_loss_percent (&summary), self->options->fail_on_loss);
      return LU_EXIT_FAILED;
    }
  return 0;
}

gboolean
lu_session_end_replay (LuSession *self, GError **error)
{
  g_autofree char *json = NULL;
  const char *metadata[3] = { NULL };
  LuSummary summary;

  fill_summary (self, &summary);
  json = describe_recording (self, &summary);
  metadata[0] = json != NULL ? LU_SYSCAP_KEY_STATS : NULL;
  metadata[1] = json;
  if (self->debuginfod != NULL)
    lu_debuginfod_allow (self->debuginfod);
  if (!lu_writer_finish (self->writer, 0, NULL, metadata, error))
    return FALSE;
  lu_session_erase_status (self);
  lu_fetcher_print_summary (self->debuginfod);
  return TRUE;
}
