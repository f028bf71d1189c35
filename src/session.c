/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session.c - one recording's life: wires source, engine and sink, waits, and takes it all apart;
 * see session.h, and session-private.h for its other parts.
 *
 * Threads: drain (rings, processes, walks) -> writer (sink), and worker (files, dwfl) for what the
 * drain must not do. The main thread waits for signals, the command, the duration and trouble.
 * Everything that can be refused is refused before COMMAND runs. */

#include "config.h"

#include "session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/priority.h"
#include "fetcher.h"
#include "input/source-perf-data.h"
#include "sandbox.h"
#include "session-private.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Room for what is sampled while the worker reads a large file; touched only as far as it is
 * needed. */
#define WORKER_QUEUE_BYTES (16u << 20)
#define ANSWER_QUEUE_BYTES (4u << 20)
/* The output may block for a while: half a minute of stacks at 1 kHz on two CPUs. */
#define WRITER_QUEUE_BYTES (32u << 20)
/* Short recordings leave tables for the next ones, too. */
#define TABLES_PATIENCE_MS 100
/* A file that takes longer to open lies where nobody may ever answer. What comes after it is then
 * written first; a helper's client does not wait for it at the end. */
#define WORKER_PATIENCE_MS 1000
#define FIRST_STACK_SIZE   16384

#ifndef __has_feature /* clang's; gcc has a macro instead */
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define FINDS_LEAKS TRUE
#else
#define FINDS_LEAKS FALSE
#endif

/* Before rights are given up, which this may take. */
LuKallsymsFile *
lu_session_open_kallsyms (void)
{
  int fd = lu_kallsyms_open ("/proc/kallsyms", NULL);

  return fd >= 0 ? lu_kallsyms_file_new (fd, NULL) : NULL;
}

static LuSource *
open_source (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;
  guint32 stack_size = options->stack_size != 0 ? options->stack_size : FIRST_STACK_SIZE;

  if (options->input != NULL && self->kallsyms == NULL)
    self->kallsyms = lu_session_open_kallsyms ();
  if (options->input != NULL)
    return lu_source_perf_data_new (options->input, error);
  return lu_target_open (&self->target, options, &self->command, stack_size, error);
}

/* What the stacks come from. */
static const char *
engine_name (LuSession *self)
{
  if (self->options->kernel_walks == LU_KERNEL_WALKS_IF_SAFE)
    return self->kernel_walks != NULL && lu_kernel_walks_is_active (self->kernel_walks)
               ? "bpf"
               : self->options->engine->name;
  return self->options->engine_name;
}

/* All but the engine. */
static void
fill_recording (LuSession *self, LuSource *source, LuRecording *recording)
{
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  *recording = (LuRecording){ .start_time = info.live ? lu_monotonic_ns () : info.start_time,
                              .wall_clock = g_get_real_time (),
                              .command = self->options->command_line,
                              .live = info.live,
                              .event_name = info.event_name,
                              .frequency = info.frequency,
                              .stack_size = info.stack_size,
                              .has_chains_only = info.has_chains_only,
                              .redact = self->options->redact };
}

static gboolean
has_tables (const LuOptions *options)
{
  return options->table_memory > 0 && options->engine != &lu_unwinder_dwfl;
}

/* NULL: none. One that cannot be used costs time only. */
static LuStore *
open_store (const LuOptions *options)
{
  g_autofree char *path = options->no_store ? NULL : lu_store_default_path ();
  g_autoptr (GError) error = NULL;
  LuStore *store;

  if (path == NULL || !has_tables (options))
    return NULL;
  store = lu_store_open (path, LU_STORE_READ_WRITE, &error);
  /* That there is no place for one, as for users without a home, is nothing to be told each time.
   */
  if (store == NULL && error->code == LU_ERROR_PERMISSION && !options->quiet
      && !lu_options_is_helper (options))
    fprintf (stderr, _ ("live-unwinder: unwind tables are not kept on disk: %s\n"), error->message);
  return store;
}

static gpointer
empty_inbox (gpointer store)
{
  lu_thread_be_ordinary ();
  lu_store_empty_inbox (store);
  return NULL;
}

/* A helper may make no files once it reads those of others: what it keeps goes to the store's
 * inbox, and what the last one put there is moved while the program is loaded. */
static void
begin_inbox (LuSession *self)
{
  self->store = open_store (self->options);
  if (self->store == NULL)
    return;
  if (!lu_store_open_inbox (self->store))
    lu_store_set_read_only (self->store);
  else if (!lu_store_is_inbox_empty (self->store))
    self->inbox_thread = g_thread_new ("inbox", empty_inbox, self->store);
}

static void
end_inbox (LuSession *self)
{
  if (self->inbox_thread != NULL)
    g_thread_join (g_steal_pointer (&self->inbox_thread));
}

static void
open_tables (LuSession *self)
{
  if (!has_tables (self->options))
    return;
  if (!lu_options_is_helper (self->options))
    self->store = open_store (self->options);
  self->tables =
      lu_tables_new (g_steal_pointer (&self->store), (gsize) self->options->table_memory << 20);
}

/* From here on foreign files are read. */
static void
give_up_rights (LuSession *self, gboolean live)
{
  gboolean is_helper = lu_options_is_helper (self->options);
  LuNeeds needs = LU_NEEDS_FILES | (live ? LU_NEEDS_PROCESSES : 0)
                  | (live && !is_helper ? LU_NEEDS_EVENTS : 0)
                  | (self->options->command != NULL ? LU_NEEDS_COMMAND : 0)
                  | (lu_session_needs_rights_for_outputs (self) ? LU_NEEDS_OUTPUTS : 0)
                  | (self->kernel_walks != NULL && lu_kernel_walks_is_active (self->kernel_walks)
                         ? LU_NEEDS_MAPS
                         : 0);
  g_autoptr (GError) error = NULL;

  if (live)
    lu_thread_be_urgent (); /* drain and worker; the others take it back */
  if (!lu_sandbox_drop_capabilities (needs, &error)
      || (is_helper && !lu_sandbox_restrict_calls (needs, &error)))
    fprintf (stderr, "live-unwinder: %s\n", error->message);
}

/* Whether what was asked for can be had; says so in one line where that is not sure. */
static gboolean
attach_kernel_walks (LuSession *self, LuSource *source, GError **error)
{
  const LuOptions *options = self->options;
  const char *reason, *remedy;

  if (self->kernel_walks == NULL)
    return TRUE;
  lu_kernel_walks_attach (self->kernel_walks, source);
  reason = lu_kernel_walks_reason (self->kernel_walks);
  remedy = lu_kernel_walks_remedy (self->kernel_walks);
  if (options->kernel_walks == LU_KERNEL_WALKS_NEVER)
    return TRUE;
  if (lu_kernel_walks_is_active (self->kernel_walks))
    {
      if (!options->quiet && isatty (STDERR_FILENO))
        fprintf (stderr, _ ("live-unwinder: stacks are walked in the kernel (%s)\n"), reason);
      return TRUE;
    }
  if (options->kernel_walks == LU_KERNEL_WALKS_IF_SAFE)
    {
      if (!options->quiet)
        fprintf (stderr, _ ("live-unwinder: stacks are not walked in the kernel but copied: %s\n"),
                 reason);
      return TRUE;
    }
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, _ ("--engine %s: %s%s%s"),
               options->engine_name, reason, remedy != NULL ? "\n  " : "",
               remedy != NULL ? remedy : "");
  return FALSE;
}

static gboolean
follows_all (const LuOptions *options)
{
  return options->all || options->input != NULL || lu_options_is_helper (options);
}

/* For lu_writer_set_patience() and lu_worker_join(). */
static int
worker_patience_ms (const LuSession *self)
{
  return lu_options_is_helper (self->options) ? WORKER_PATIENCE_MS : -1;
}

/* Queues and the threads' objects, back to front. */
static void
make_threads (LuSession *self, LuSource *source_taken, LuUnwinder *unwinder_taken, gboolean live)
{
  gboolean is_helper = lu_options_is_helper (self->options);
  const LuDrainOptions drain_options = { .follow_all = follows_all (self->options),
                                         .pids = self->target.pids,
                                         .tids = self->options->tids,
                                         .command = self->command.pid,
                                         .include_self = self->options->include_self,
                                         .grow_stack = self->options->stack_size == 0,
                                         .log_progress = is_helper };
  LuDispatch *dispatch;

  self->to_worker = lu_queue_new (WORKER_QUEUE_BYTES);
  self->from_worker = lu_queue_new (ANSWER_QUEUE_BYTES);
  self->to_writer = lu_queue_new (WRITER_QUEUE_BYTES);
  self->worker = lu_worker_new (unwinder_taken, self->to_worker, self->from_worker, live);
  if (is_helper)
    lu_worker_know_own_mounts (self->worker);
  self->writer = lu_writer_new (lu_session_new_sink (self, live), self->to_writer,
                                self->from_worker, !self->options->no_join, self->failed_fd);
  lu_writer_set_rotation (self->writer, self->rotation);
  lu_writer_set_patience (self->writer, worker_patience_ms (self));
  dispatch = lu_dispatch_new (self->to_worker, self->to_writer,
                              self->options->engine->walks_in_drain, live);
  if (self->options->kernel_walks == LU_KERNEL_WALKS_CHECKED)
    lu_dispatch_pair (dispatch);
  self->drain = lu_drain_new (source_taken, dispatch, self->writer, &drain_options, self->ended_fd);
  if (is_helper)
    lu_drain_run_ahead (self->drain, lu_kernel_walks_loaded_fd (self->kernel_walks));
}

static void
hand_out_tables (LuSession *self, gboolean live)
{
  open_tables (self);
  if (self->tables != NULL)
    lu_worker_set_tables (self->worker, self->tables);
  if (live && self->options->engine == &lu_unwinder_table)
    lu_worker_be_lean (self->worker);
  if (self->kernel_walks == NULL)
    return;
  lu_kernel_walks_start (self->kernel_walks, self->tables);
  lu_drain_set_maps (self->drain, lu_kernel_walks_maps (self->kernel_walks));
}

static gboolean
run_threads (LuSession *self, GError **error)
{
  lu_writer_start (self->writer);
  lu_worker_start (self->worker);
  if (!lu_drain_start (self->drain, error))
    {
      lu_queue_close (self->to_worker);
      lu_queue_close (self->to_writer);
      return FALSE;
    }
  self->start_us = g_get_monotonic_time ();
  self->cpu_seconds_at_start = lu_session_cpu_seconds ();
  self->busy_ns_at_start = lu_session_busy_ns ();
  return TRUE;
}

/* What needs rights comes first, and what reads foreign files after they are given up. */
static gboolean
start_threads (LuSession *self, LuSource *source_taken, GError **error)
{
  g_autoptr (LuSource) source = source_taken;
  LuUnwinder *unwinder = self->options->engine->new (error);
  LuRecording recording;
  LuSourceInfo info;

  if (unwinder == NULL)
    return FALSE;
  if (lu_options_is_helper (self->options))
    begin_inbox (self);
  if (self->options->input == NULL)
    self->kernel_walks = lu_kernel_walks_new (self->options, source, follows_all (self->options));
  source->ops->get_info (source, &info);
  fill_recording (self, source, &recording);
  self->source_info = info;
  self->source_info.trouble = NULL; /* of the whole recording */
  make_threads (self, g_steal_pointer (&source), unwinder, info.live);
  if (!attach_kernel_walks (self, lu_drain_source (self->drain), error))
    return FALSE;
  recording.engine = engine_name (self);
  if (!lu_writer_begin (self->writer, &recording, error))
    return FALSE;
  end_inbox (self);
  give_up_rights (self, info.live);
  hand_out_tables (self, info.live);
  return run_threads (self, error);
}

static void
stop_threads (LuSession *self)
{
  lu_helper_stop (&self->helper);
  if (self->drain != NULL)
    lu_drain_stop (self->drain);
  self->stop_us = g_get_monotonic_time ();
  if (self->worker != NULL)
    self->worker_is_stuck = !lu_worker_join (self->worker, worker_patience_ms (self));
  if (self->worker_is_stuck)
    lu_writer_give_up_answers (self->writer);
  self->cpu_seconds_at_stop = lu_session_cpu_seconds ();
  if (self->writer != NULL)
    lu_writer_join (self->writer);
  if (self->tables != NULL)
    lu_tables_stop (self->tables, lu_options_is_helper (self->options) ? 0 : TABLES_PATIENCE_MS);
}

/* COMMAND could not be started: what was recorded is nothing, so no file is left behind. */
static int
exec_error (LuSession *self, int exec_errno)
{
  fprintf (stderr, "live-unwinder: %s: %s\n", self->options->command[0], g_strerror (exec_errno));
  return exec_errno == ENOENT ? LU_EXIT_NOT_FOUND : LU_EXIT_NOT_EXECUTABLE;
}

static int
record (LuSession *self)
{
  int exec_errno = 0, code;

  if (self->options->command != NULL)
    exec_errno = lu_command_go (&self->command);
  if (exec_errno == 0)
    lu_session_wait_for_the_end (self);
  stop_threads (self);
  if (exec_errno != 0)
    return exec_error (self, exec_errno);
  code = lu_session_report (self);
  return self->options->command != NULL ? lu_session_wait_for_command (self, code) : code;
}

/* Before anything is open, and while there is one thread. */
static gboolean
start_fetcher (LuSession *self, GError **error)
{
  if (!lu_fetcher_start (self->options->debuginfod, &self->debuginfod, error))
    return FALSE;
  if (self->debuginfod != NULL)
    lu_debuginfod_set_progress (self->debuginfod, lu_session_go_on_fetching, self);
  return TRUE;
}

static gboolean
prepare (LuSession *self, GError **error)
{
  g_autoptr (LuSource) source = NULL;

  if ((self->options->stats == LU_STATS_JSON && !lu_json_is_available (error))
      || !start_fetcher (self, error) || !lu_session_block_signals (self, error))
    return FALSE;
  if (lu_options_is_helper (self->options))
    {
      /* Its events may be on before we are. */
      lu_thread_be_urgent ();
      source = lu_helper_open_source (self->options, error);
      return source != NULL
             && lu_helper_open (&self->helper, &self->options->helper, &self->outputs.capture_fd,
                                error)
             && start_threads (self, g_steal_pointer (&source), error);
    }
  if (!lu_session_open_outputs (self, error))
    return FALSE;
  if (self->options->command != NULL
      && !lu_command_prepare (&self->command, self->options->command, self->outputs.paths, error))
    return FALSE;
  source = open_source (self, error);
  if (source == NULL)
    {
      /* Nothing was recorded: do not leave an empty file behind. */
      lu_outputs_discard (&self->outputs);
      return FALSE;
    }
  return start_threads (self, g_steal_pointer (&source), error);
}

/* And what it uses. */
static void
clear_worker (LuSession *self)
{
  lu_worker_free (self->worker);
  lu_tables_free (self->tables);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->from_worker);
}

/* The kernel may keep a process whose thread is stuck for as long as that is; so all else goes: its
 * events sample no more, and the client finds its pipe closed. */
static void
session_clear (LuSession *self)
{
  lu_command_clear (&self->command);
  lu_drain_free (self->drain); /* its events run the program */
  lu_kernel_walks_free (self->kernel_walks);
  end_inbox (self);
  lu_store_free (self->store);
  lu_writer_free (self->writer);
  lu_queue_free (self->to_writer);
  if (!self->worker_is_stuck)
    clear_worker (self);
  lu_target_clear (&self->target);
  lu_fd_clear (&self->signal_fd);
  lu_fd_clear (&self->ended_fd);
  lu_fd_clear (&self->failed_fd);
  lu_helper_clear (&self->helper);
  lu_outputs_clear (&self->outputs);
  lu_kallsyms_file_unref (self->kallsyms);
  lu_debuginfod_free (self->debuginfod);
}

static gboolean
replay_to_the_end (LuSession *self, GError **error)
{
  lu_session_wait_for_the_end (self);
  stop_threads (self);
  if (self->interrupted)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, _ ("interrupted"));
      return FALSE;
    }
  return lu_session_end_replay (self, error);
}

#define SESSION_INIT(of)                                                                           \
  {                                                                                                \
    .options = (of), .signal_fd = -1, .ended_fd = -1, .failed_fd = -1, .helper = LU_HELPER_INIT,   \
    .outputs = LU_OUTPUTS_INIT, .main_thread = g_thread_self (), .command = {                      \
      .go_fd = -1,                                                                                 \
      .status_fd = -1                                                                              \
    }                                                                                              \
  }

int
lu_session_run (const LuOptions *options)
{
  LuSession self = SESSION_INIT (options);
  g_autoptr (GError) error = NULL;
  gboolean is_prepared = prepare (&self, &error);
  int code = is_prepared ? record (&self) : lu_session_failed (&self, error);

  /* All that a helper has is memory and descriptors, which go with the process, and faster than
   * piece by piece. */
  if (!is_prepared || FINDS_LEAKS || self.worker_is_stuck || !lu_options_is_helper (options))
    session_clear (&self);
  return code;
}

/* What comes after is interrupted by signals as ever. */
gboolean
lu_session_replay (const LuOptions *options, LuOutputs *outputs, LuKallsymsFile *kallsyms,
                   GError **error)
{
  LuSession self = SESSION_INIT (options);
  sigset_t before;
  gboolean ok;

  sigprocmask (SIG_BLOCK, NULL, &before);
  self.kallsyms = kallsyms != NULL ? lu_kallsyms_file_ref (kallsyms) : NULL;
  self.outputs = *outputs;
  *outputs = (LuOutputs) LU_OUTPUTS_INIT;
  ok = prepare (&self, error) && replay_to_the_end (&self, error);
  session_clear (&self);
  signal (SIGPIPE, SIG_DFL);
  signal (SIGXFSZ, SIG_DFL);
  sigprocmask (SIG_SETMASK, &before, NULL);
  return ok;
}
