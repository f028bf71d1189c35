/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.c - runs a file of perf through a pipeline into a model, a format or a capture; see
 * replay.h. */

#include "config.h"

#include "replay.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/signals.h"
#include "input/source-perf-data.h"
#include "session/summary.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

static const char perf_magic[] = "PERFILE2";

typedef struct
{
  LuSignals signals;
  int signal_number;        /* the first one; 0: none came */
  LuDebuginfod *debuginfod; /* borrowed; NULL: nothing is fetched */
  LuPipeline *pipeline;     /* NULL before it is made */
} Replay;

gboolean
lu_replay_is_perf_data (const char *path)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  char start[sizeof perf_magic - 1];

  return fd >= 0 && lu_fd_pread_all (fd, start, sizeof start, 0) == sizeof start
         && memcmp (start, perf_magic, sizeof start) == 0;
}

static gboolean
is_interrupted (Replay *self)
{
  struct signalfd_siginfo info;

  while (lu_signals_read (&self->signals, &info))
    if (info.ssi_signo != SIGCHLD)
      self->signal_number = (int) info.ssi_signo;
  return self->signal_number != 0 || lu_signals_came () != 0;
}

/* A signal while names are looked for leaves out the remaining names; those found stay. */
static gboolean
go_on_naming (guint done, guint total, gpointer user_data)
{
  return !is_interrupted (user_data);
}

static gboolean
go_on_fetching (const char *name, guint64 done, guint64 total, gpointer user_data)
{
  return name == NULL || !is_interrupted (user_data);
}

static LuPipeline *
new_pipeline (LuSource *source_taken, const LuReplayOptions *options, GError **error)
{
  const LuPipelineOptions pipeline_options = {
    .engine = &lu_unwinder_table,
    .drain = { .follow_all = options->pids == NULL, .pids = options->pids },
    .table_memory = LU_TABLES_BUDGET,
    .join = !options->is_exact,
    .is_patient = TRUE,
    .tables_patience_ms = LU_PIPELINE_TABLES_PATIENCE_MS
  };

  return source_taken != NULL ? lu_pipeline_new (source_taken, &pipeline_options, error) : NULL;
}

/* Takes what is open of the outputs. Kernel addresses have names only if the file is of the kernel
 * that runs. */
static LuSink *
new_sink (Replay *self, LuOutputs *outputs, LuKallsymsFile *kallsyms)
{
  const LuSourceInfo *info = lu_pipeline_source_info (self->pipeline);
  gboolean has_capture = outputs->capture_fd >= 0;
  LuSink *sink;

  outputs->debuginfod = self->debuginfod;
  sink = lu_outputs_take_sink (outputs);
  if (kallsyms != NULL
      && (info->live
          || lu_kallsyms_file_is_of (kallsyms, info->os_release, info->kernel_symbol,
                                     info->kernel_address)))
    lu_syscap_sink_share_kallsyms (sink, kallsyms);
  if (has_capture)
    lu_syscap_sink_add_symbols (sink, go_on_naming, self);
  return sink;
}

static LuStore *
open_store (void)
{
  g_autofree char *path = lu_store_default_path ();

  return path != NULL ? lu_store_open (path, LU_STORE_READ_WRITE, NULL) : NULL;
}

/* The next step may wait for a reader; a second signal ends the program. */
static void
let_signals_in (Replay *self)
{
  lu_signals_let_in (&self->signals,
                     _ ("live-unwinder: waiting for the output to be written; one more signal ends "
                        "it at once\n"));
}

/* Stops the pipeline while a signal that has come already counts as the first one. */
static void
stop_interrupted (Replay *self)
{
  let_signals_in (self);
  raise (self->signal_number);
  lu_pipeline_stop (self->pipeline);
  lu_signals_keep_out (&self->signals);
}

static gboolean
wait_for_end (Replay *self, GError **error)
{
  struct pollfd fds[] = { { .fd = self->signals.fd, .events = POLLIN },
                          { .fd = lu_pipeline_over_fd (self->pipeline), .events = POLLIN } };

  while (!is_interrupted (self) && fds[1].revents == 0)
    if (poll (fds, G_N_ELEMENTS (fds), -1) < 0 && errno != EINTR)
      break;
  if (self->signal_number == 0)
    {
      lu_pipeline_stop (self->pipeline);
      return TRUE;
    }
  stop_interrupted (self);
  g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, _ ("interrupted"));
  return FALSE;
}

static gboolean
finish (Replay *self, GError **error)
{
  g_autofree char *json = NULL;
  LuSummary summary;
  gboolean ok;

  lu_summary_init (&summary, self->pipeline);
  json = lu_summary_to_json (&summary);
  let_signals_in (self);
  ok = lu_pipeline_finish (
      self->pipeline, (const char *[]){ json != NULL ? LU_SYSCAP_KEY_STATS : NULL, json, NULL },
      error);
  lu_signals_keep_out (&self->signals);
  return ok;
}

static gboolean
run (Replay *self, LuSource *source_taken, const LuReplayOptions *options, LuOutputs *outputs,
     GError **error)
{
  LuRecording recording;
  gboolean ok;

  self->pipeline = new_pipeline (source_taken, options, error);
  if (self->pipeline == NULL)
    return FALSE;
  lu_pipeline_describe (self->pipeline, &recording);
  recording.redact = options->redact;
  let_signals_in (self);
  ok = lu_pipeline_begin (self->pipeline, new_sink (self, outputs, options->kallsyms), NULL,
                          &recording, error);
  self->signal_number = lu_signals_keep_out (&self->signals);
  return ok && lu_pipeline_start (self->pipeline, open_store (), error)
         && wait_for_end (self, error) && finish (self, error);
}

static gboolean
replay (LuSource *source_taken, const LuReplayOptions *options, LuOutputs *outputs, GError **error)
{
  g_autoptr (LuSource) source = source_taken;
  Replay self = { .signals = { .fd = -1 }, .debuginfod = options->debuginfod };
  gboolean ok;

  if (self.debuginfod != NULL)
    lu_debuginfod_set_progress (self.debuginfod, go_on_fetching, &self);
  ok = lu_signals_block (&self.signals, error)
       && run (&self, g_steal_pointer (&source), options, outputs, error);
  lu_signals_restore (&self.signals);
  lu_pipeline_free (self.pipeline);
  lu_outputs_clear (outputs);
  return ok;
}

gboolean
lu_replay_convert (const char *path, const LuReplayOptions *options, LuOutputs *outputs,
                   GError **error)
{
  return replay (lu_source_perf_data_new (path, error), options, outputs, error);
}

LuModel *
lu_replay_source (LuSource *source_taken, LuModelFlags flags, const LuReplayOptions *options,
                  GError **error)
{
  g_autoptr (LuModel) model = lu_model_new (flags);
  LuOutputs outputs = LU_OUTPUTS_INIT;

  outputs.tee = lu_tee_new ();
  lu_tee_add_model (outputs.tee, model);
  if (!replay (source_taken, options, &outputs, error))
    return NULL;
  model->is_finished = TRUE;
  return g_steal_pointer (&model);
}

LuModel *
lu_replay_load (const char *path, LuModelFlags flags, LuKallsymsFile *kallsyms, GError **error)
{
  const LuReplayOptions options = { .kallsyms = kallsyms };
  LuSource *source;

  if (g_str_equal (path, "-") || !lu_replay_is_perf_data (path))
    return lu_model_load (path, flags, error);
  source = lu_source_perf_data_new (path, error);
  return source != NULL ? lu_replay_source (source, flags, &options, error) : NULL;
}
