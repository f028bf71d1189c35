/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session.c - one recording's life: opens what is recorded and where it goes, runs a pipeline
 * between them (record/pipeline.h), waits, and takes it all apart. See session.h, and
 * session-private.h for the other parts.
 *
 * Everything that can be refused is refused before COMMAND runs. */

#include "config.h"

#include "session.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/leaks.h"
#include "base/priority.h"
#include "code/decoder.h"
#include "elf/own-vdso.h"
#include "export/format.h"
#include "input/source-perf-data.h"
#include "interp/interp.h"
#include "sandbox/sandbox.h"
#include "session-private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>

#define FIRST_STACK_SIZE 16384
/* The longest wait for COMMAND after its last task was seen to end. */
#define COMMAND_END_MS 100

static const LuSessionMode recorder_mode = {
  .opens_events = TRUE,
  .warns_of_store = TRUE,
  .has_summary = TRUE,
  .cfi_memory = (gsize) 128 << 20,
  .tables_patience_ms = LU_PIPELINE_TABLES_PATIENCE_MS,
};

static const LuSessionMode helper_mode = {
  .has_client = TRUE,
  .follows_all = TRUE,
  .restricts_calls = TRUE,
  .runs_ahead = TRUE,
  .knows_own_mounts = TRUE,
  .logs_progress = TRUE,
  .skips_clean_up = TRUE,
  .cfi_memory = (gsize) 32 << 20,
};

static const LuSessionMode *
find_mode (const LuOptions *options)
{
  return lu_options_is_helper (options) ? &helper_mode : &recorder_mode;
}

/* Until the next call, the start may wait for another process: for the reader of a FIFO, or for
 * COMMAND's file. */
static void
let_signals_in (LuSession *self)
{
  lu_signals_let_in (&self->signals,
                     _ ("live-unwinder: waiting for an input, an output or COMMAND to be opened; "
                        "one more signal ends it at once\n"));
}

/* Returns whether a signal came. */
static gboolean
keep_signals_out (LuSession *self)
{
  self->signal_number = lu_signals_keep_out (&self->signals);
  self->interrupted = self->signal_number != 0;
  self->signal_us = self->interrupted ? g_get_monotonic_time () : 0;
  return self->interrupted;
}

static LuSource *
open_source (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;
  guint32 stack_size = options->stack_size != 0 ? options->stack_size : FIRST_STACK_SIZE;

  if (options->input == NULL)
    return lu_target_open (&self->target, options, &self->command, stack_size, error);
  self->kallsyms = lu_kallsyms_file_open ();
  return lu_source_perf_data_new (options->input, error);
}

static gboolean
has_tables (const LuOptions *options)
{
  return options->table_memory > 0 && options->engine != &lu_unwinder_dwfl;
}

/* Opens the store, if tables are kept. A store that cannot be used costs time only. */
static void
open_store (LuSession *self)
{
  const LuOptions *options = self->options;
  g_autofree char *path = options->no_store ? NULL : lu_store_default_path ();
  g_autoptr (GError) error = NULL;

  if (path == NULL || !has_tables (options))
    return;
  self->store = lu_store_open (path, LU_STORE_READ_WRITE, &error);
  /* Having no cache directory is normal (no HOME); do not warn. */
  if (self->store == NULL && error->code == LU_ERROR_PERMISSION && !options->quiet
      && self->mode->warns_of_store)
    fprintf (stderr, _ ("live-unwinder: unwind tables are not kept on disk: %s\n"), error->message);
}

/* From here on only the keeper makes files. */
static gboolean
start_keeper (LuSession *self, GError **error)
{
  gboolean for_others =
      self->directories != NULL && lu_output_directories_are_others (self->directories);

  open_store (self);
  if (self->store != NULL)
    lu_store_set_keeper (self->store, self->keeper);
  if ((self->store == NULL && self->directories == NULL)
      || lu_keeper_start (self->keeper, for_others))
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fork: %s", g_strerror (errno));
  return FALSE;
}

/* The helper's sandbox lets it create no files, so its writes to the store stay pending until the
 * next helper starts. */
static void
open_helper_store (LuSession *self)
{
  open_store (self);
  if (self->store != NULL && !lu_store_open_pending (self->store))
    lu_store_set_read_only (self->store);
}

/* perf.data cannot have functions of interpreters, so it needs the interpreters' own frames. */
static gboolean
keeps_native_frames (const LuOptions *options)
{
  gboolean keeps = options->native_frames;

  for (guint i = 0; options->outputs != NULL && options->outputs[i] != NULL; i++)
    {
      const LuFormat *format = lu_format_of (options->outputs[i]);

      keeps |= format != NULL && format->take != NULL;
    }
  return keeps;
}

static LuPipeline *
new_pipeline (LuSession *self, LuSource *source_taken, GError **error)
{
  const LuOptions *options = self->options;
  const LuSessionMode *mode = self->mode;
  LuKernelWalksOptions walks = options->kernel_walks;
  const LuPipelineOptions pipeline_options = {
    .engine = options->engine,
    .kernel_walks = options->input == NULL ? &walks : NULL,
    .drain = { .follow_all = options->all || options->input != NULL || mode->follows_all,
               .pids = self->target.pids,
               .tids = self->target.tids,
               .command = self->command.pid,
               .include_self = options->include_self,
               .log_progress = mode->logs_progress },
    .table_memory = has_tables (options) ? (gsize) options->table_memory << 20 : 0,
    .grow_stack = options->stack_size == 0,
    .native_frames = keeps_native_frames (options),
    .join = !options->no_join,
    .runs_ahead = mode->runs_ahead,
    .own_mounts_are_known = mode->knows_own_mounts,
    .tables_patience_ms = mode->tables_patience_ms,
  };

  if (options->input == NULL)
    lu_images_set_limit (mode->cfi_memory);
  walks.early_interpreters =
      options->command != NULL && lu_interp_runs_command ((const char *const *) options->command);
  return lu_pipeline_new (source_taken, &pipeline_options, error);
}

static gboolean
is_unwinding_in_kernel (const LuSession *self)
{
  const LuKernelWalks *walks = lu_pipeline_kernel_walks (self->pipeline);

  return walks != NULL && lu_kernel_walks_is_active (walks);
}

/* Tells whether stacks are unwound in the kernel. FALSE: they are not, but have to be. */
static gboolean
check_kernel_walks (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;
  const LuKernelWalks *walks = lu_pipeline_kernel_walks (self->pipeline);
  const char *reason, *remedy;

  if (walks == NULL || options->kernel_walks.wanted == LU_KERNEL_WALKS_NEVER)
    return TRUE;
  reason = lu_kernel_walks_reason (walks);
  remedy = lu_kernel_walks_remedy (walks);
  if (lu_kernel_walks_is_active (walks))
    {
      if (options->verbose)
        fprintf (stderr, _ ("live-unwinder: stacks are unwound in the kernel (%s)\n"), reason);
      return TRUE;
    }
  if (options->kernel_walks.wanted == LU_KERNEL_WALKS_IF_SAFE)
    {
      if (options->verbose || (lu_kernel_walks_is_refused (walks) && !options->quiet))
        fprintf (stderr, _ ("live-unwinder: stacks are not unwound in the kernel but copied: %s\n"),
                 reason);
      return TRUE;
    }
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, _ ("--engine %s: %s%s%s"),
               options->engine_name, reason, remedy != NULL ? "\n  " : "",
               remedy != NULL ? remedy : "");
  return FALSE;
}

static gboolean
begin_output (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;
  LuSink *sink = lu_session_new_sink (self);
  LuRecording recording;
  gboolean ok;

  lu_pipeline_describe (self->pipeline, &recording);
  recording.command = options->command_line;
  recording.spawned = options->command;
  recording.redact = options->redact;
  recording.counters = !options->no_counters;
  recording.native_frames = keeps_native_frames (options);
  if (options->kernel_walks.wanted != LU_KERNEL_WALKS_IF_SAFE)
    recording.engine = options->engine_name;
  let_signals_in (self);
  ok = lu_pipeline_begin (self->pipeline, sink, self->rotation, &recording, error);
  return !keep_signals_out (self) && ok;
}

/* From here on files of other users are read. */
static void
give_up_rights (LuSession *self)
{
  gboolean live = lu_pipeline_source_info (self->pipeline)->live;
  LuNeeds needs = LU_NEEDS_FILES | (live ? LU_NEEDS_PROCESSES : 0)
                  | (live && self->mode->opens_events ? LU_NEEDS_EVENTS : 0)
                  | (self->options->command != NULL ? LU_NEEDS_COMMAND : 0)
                  | (is_unwinding_in_kernel (self) ? LU_NEEDS_MAPS : 0);
  g_autoptr (GError) error = NULL;
  gsize vdso_size;

  if (live)
    lu_thread_be_urgent (); /* for drain and worker; the other threads take it back */
  if (live)
    lu_kernel_vdso_32 (&vdso_size); /* which starts a process */
  lu_decoder_load ();               /* which makes memory executable */
  lu_sandbox_leave_root ();
  if (!lu_sandbox_drop_capabilities (needs, &error)
      || !(self->mode->restricts_calls ? lu_sandbox_restrict_calls (needs, &error)
                                       : lu_sandbox_restrict_recorder (&error)))
    fprintf (stderr, "live-unwinder: %s\n", error->message);
}

/* A short program would end before the functions that its interpreter runs can be read. Returns
 * FALSE if a signal came. */
static gboolean
wait_for_interpreters (LuSession *self)
{
  const LuKernelWalks *walks = lu_pipeline_kernel_walks (self->pipeline);

  if (walks == NULL)
    return TRUE;
  let_signals_in (self);
  lu_kernel_walks_await_interpreters (walks);
  return !keep_signals_out (self);
}

/* Does what needs rights first, and gives them up before it reads files of other users. */
static gboolean
start (LuSession *self, LuSource *source_taken, GError **error)
{
  lu_sandbox_choose_user ();
  if (self->mode->restricts_calls)
    open_helper_store (self);
  self->pipeline = new_pipeline (self, source_taken, error);
  if (self->pipeline == NULL || !check_kernel_walks (self, error) || !begin_output (self, error))
    return FALSE;
  give_up_rights (self);
  return wait_for_interpreters (self)
         && lu_pipeline_start (self->pipeline, g_steal_pointer (&self->store), error);
}

/* COMMAND could not be started, so nothing was recorded and no file may remain. */
static int
exec_error (LuSession *self, int exec_errno)
{
  fprintf (stderr, "live-unwinder: %s: %s\n", self->options->command[0], g_strerror (exec_errno));
  return exec_errno == ENOENT ? LU_EXIT_NOT_FOUND : LU_EXIT_NOT_EXECUTABLE;
}

static gpointer
end_main (gpointer data)
{
  LuSession *self = data;

  lu_pipeline_stop (self->pipeline);
  self->code =
      self->exec_errno != 0 ? exec_error (self, self->exec_errno) : lu_session_report (self);
  eventfd_write (self->end_fd, 1);
  return NULL;
}

static void
start_command (LuSession *self)
{
  let_signals_in (self);
  self->exec_errno = lu_command_go (&self->command);
  if (keep_signals_out (self))
    kill (self->command.pid, self->signal_number);
}

/* Notes the CPU time of COMMAND as the recording ends. The drain learns that the last task is about
 * to end a little before COMMAND can be waited for. */
static void
note_command (LuSession *self)
{
  gboolean is_cut_off = self->interrupted
                        || (self->options->duration > 0
                            && lu_pipeline_seconds (self->pipeline) >= self->options->duration);

  for (guint i = 0; i < COMMAND_END_MS && self->command.pid > 0 && !is_cut_off
                    && !lu_command_reap (&self->command, FALSE);
       i++)
    g_usleep (1000);
  self->command_was_reaped = self->command.reaped;
  self->command_cpu_ns = lu_command_cpu_ns (&self->command);
}

static int
record (LuSession *self)
{
  GThread *end;

  if (self->options->command != NULL)
    start_command (self);
  if (self->exec_errno == 0)
    lu_session_wait_for_the_end (self);
  note_command (self);
  lu_helper_stop (&self->helper);
  g_atomic_int_set (&self->is_ending, TRUE);
  end = g_thread_new ("end", end_main, self);
  lu_session_wait_for_the_report (self);
  g_thread_join (end);
  return self->options->command != NULL && self->exec_errno == 0
             ? lu_session_wait_for_command (self, self->code)
             : self->code;
}

/* Both fork, so they come before anything is open, and while there is one thread. */

static gboolean
start_viewer (LuSession *self, GError **error)
{
  self->viewer = lu_viewer_choose (self->options->outputs);
  if (self->options->open)
    self->viewer_fd = lu_viewer_start (&self->viewer, error);
  return !self->options->open || self->viewer_fd >= 0;
}

static gboolean
start_fetcher (LuSession *self, GError **error)
{
  if (!lu_fetcher_start (self->options->debuginfod, &self->debuginfod, error))
    return FALSE;
  if (self->debuginfod != NULL)
    lu_debuginfod_set_progress (self->debuginfod, lu_session_go_on_fetching, self);
  return TRUE;
}

/* The client's events may already be sampling, so map their rings first. */
static gboolean
prepare_for_client (LuSession *self, GError **error)
{
  g_autoptr (LuSource) source = NULL;

  lu_thread_be_urgent ();
  source = lu_helper_open_source (self->options, error);
  return source != NULL
         && lu_helper_open (&self->helper, &self->options->helper, &self->outputs.capture_fd, error)
         && start (self, g_steal_pointer (&source), error);
}

/* Opens the outputs and what is recorded. */
static LuSource *
open_all (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;

  self->keeper = lu_keeper_new ();
  if (!lu_session_open_outputs (self, error) || !start_keeper (self, error))
    return NULL;
  if (options->command != NULL
      && !lu_command_prepare (&self->command, options->command, self->outputs.paths, &self->signals,
                              error))
    return NULL;
  return open_source (self, error);
}

static gboolean
open_and_start (LuSession *self, GError **error)
{
  g_autoptr (LuSource) source = NULL;

  let_signals_in (self);
  source = open_all (self, error);
  return !keep_signals_out (self) && source != NULL
         && start (self, g_steal_pointer (&source), error);
}

static gboolean
prepare (LuSession *self, GError **error)
{
  if (!start_viewer (self, error) || !start_fetcher (self, error)
      || !lu_signals_block (&self->signals, error))
    return FALSE;
  if (self->mode->has_client)
    return prepare_for_client (self, error);
  if (open_and_start (self, error))
    return TRUE;
  /* Nothing was recorded: do not leave an empty file behind. */
  lu_outputs_discard (&self->outputs);
  return FALSE;
}

static void
session_clear (LuSession *self)
{
  lu_command_clear (&self->command);
  lu_pipeline_free (self->pipeline);
  lu_store_free (self->store);
  lu_target_clear (&self->target);
  lu_signals_clear (&self->signals);
  lu_fd_clear (&self->end_fd);
  lu_fd_clear (&self->viewer_fd);
  lu_helper_clear (&self->helper);
  lu_outputs_clear (&self->outputs);
  lu_output_directories_free (self->directories);
  lu_keeper_free (self->keeper);
  lu_kallsyms_file_unref (self->kallsyms);
  lu_debuginfod_free (self->debuginfod);
}

int
lu_session_run (const LuOptions *options)
{
  LuSession self = { .options = options,
                     .mode = find_mode (options),
                     .signals = { .fd = -1 },
                     .viewer_fd = -1,
                     .end_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK),
                     .helper = LU_HELPER_INIT,
                     .outputs = LU_OUTPUTS_INIT,
                     .command = { .go_fd = -1, .status_fd = -1 } };
  g_autoptr (GError) error = NULL;
  gboolean is_prepared = prepare (&self, &error);
  int code = is_prepared        ? record (&self)
             : self.interrupted ? 128 + self.signal_number
                                : lu_session_failed (&self, error);

  if (!is_prepared || LU_FINDS_LEAKS || !self.mode->skips_clean_up
      || lu_pipeline_is_stuck (self.pipeline))
    session_clear (&self);
  return code;
}
