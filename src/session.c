/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session.c - one recording: wires source, engine and sink, then waits; see session.h.
 *
 * Threads: drain (rings, processes, walks) -> writer (sink), and worker (files, dwfl) for what the
 * drain must not do. The main thread waits for signals, the command, the duration and trouble.
 * Everything that can be refused is refused before COMMAND runs. */

#include "config.h"

#include "session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/priority.h"
#include "command.h"
#include "drain.h"
#include "fetcher.h"
#include "helper.h"
#include "input/source-perf-data.h"
#include "input/source-perf.h"
#include "kernel-walks.h"
#include "output/outputs.h"
#include "output/syscap.h"
#include "rotation.h"
#include "sandbox.h"
#include "summary.h"
#include "target.h"
#include "worker.h"
#include "writer.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Room for what is sampled while the worker reads a large file; touched only as far as it is
 * needed. */
#define WORKER_QUEUE_BYTES (16u << 20)
#define ANSWER_QUEUE_BYTES (4u << 20)
/* The output may block for a while: half a minute of stacks at 1 kHz on two CPUs. */
#define WRITER_QUEUE_BYTES (32u << 20)
#define STATUS_INTERVAL_MS 500
/* Short recordings leave tables for the next ones, too. */
#define TABLES_PATIENCE_MS 100
#define FIRST_STACK_SIZE   16384

typedef struct
{
  const LuOptions *options;
  LuTarget target;
  LuCommand command;
  LuHelper helper; /* nothing in it unless we are one */
  LuQueue *to_worker, *from_worker, *to_writer;
  LuWorker *worker;
  LuTables *tables;            /* NULL: none */
  LuKernelWalks *kernel_walks; /* NULL: nothing is sampled */
  LuWriter *writer;
  LuDrain *drain;
  int signal_fd, ended_fd, failed_fd;
  gint64 start_us, stop_us;
  guint64 busy_ns_at_start;
  gint64 naming_us;         /* since when names are looked for; 0: they are not */
  LuDebuginfod *debuginfod; /* NULL: nothing is fetched */
  gint64 fetching_us;       /* since when */
  LuOutputs outputs;        /* until the sinks have them */
  LuKallsymsFile *kallsyms; /* of this machine, for a file; reference; NULL: none */
  GThread *main_thread;
  gint skips_names; /* atomic */
  gboolean interrupted, status_shown;

  /* with --rotate */
  LuRotation *rotation; /* the writer's sink; NULL: there is none */
  LuSourceInfo source_info;
  LuDrainProgress last_progress; /* when a file was ended for the last time */
  double last_cpu_seconds;
} Session;

/* Time all CPUs spent on something, from the first line of /proc/stat; 0 if it cannot be read. */
static guint64
busy_ns (void)
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

static gboolean
block_signals (Session *self, GError **error)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  sigaddset (&set, SIGHUP);
  sigaddset (&set, SIGCHLD);
  sigprocmask (SIG_BLOCK, &set, NULL);
  signal (SIGPIPE, SIG_IGN);
  self->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  self->ended_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->failed_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->signal_fd >= 0 && self->ended_fd >= 0 && self->failed_fd >= 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "signalfd: %s", g_strerror (errno));
  return FALSE;
}

/* Before rights are given up, which this may take. */
LuKallsymsFile *
lu_session_open_kallsyms (void)
{
  int fd = lu_kallsyms_open ("/proc/kallsyms", NULL);

  return fd >= 0 ? lu_kallsyms_file_new (fd, NULL) : NULL;
}

static LuSource *
open_source (Session *self, GError **error)
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
engine_name (Session *self)
{
  if (self->options->kernel_walks == LU_KERNEL_WALKS_IF_SAFE)
    return self->kernel_walks != NULL && lu_kernel_walks_is_active (self->kernel_walks)
               ? "bpf"
               : self->options->engine->name;
  return self->options->engine_name;
}

static void
fill_recording (Session *self, LuSource *source, LuRecording *recording)
{
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  *recording = (LuRecording){ .start_time = info.live ? lu_monotonic_ns () : info.start_time,
                              .wall_clock = g_get_real_time (),
                              .command = self->options->command_line,
                              .live = info.live,
                              .engine = engine_name (self),
                              .event_name = info.event_name,
                              .frequency = info.frequency,
                              .stack_size = info.stack_size,
                              .has_chains_only = info.has_chains_only,
                              .redact = self->options->redact };
}

/* A store that cannot be used costs time only. A helper may not write to it. */
static void
open_tables (Session *self)
{
  g_autofree char *path = self->options->no_store ? NULL : lu_store_default_path ();
  g_autoptr (GError) error = NULL;
  LuStore *store = NULL;

  if (self->options->table_memory == 0 || self->options->engine == &lu_unwinder_dwfl)
    return;
  if (path != NULL)
    store = lu_store_open (
        path, lu_options_is_helper (self->options) ? LU_STORE_READ_ONLY : LU_STORE_READ_WRITE,
        &error);
  /* That there is no place for one, as for users without a home, is nothing to be told each time.
   */
  if (error != NULL && error->code == LU_ERROR_PERMISSION && !self->options->quiet
      && !lu_options_is_helper (self->options))
    fprintf (stderr, _ ("live-unwinder: unwind tables are not kept on disk: %s\n"), error->message);
  self->tables = lu_tables_new (store, (gsize) self->options->table_memory << 20);
}

static gboolean go_on_naming (guint done, guint total, gpointer user_data);

/* Whether a file is of this kernel, as it runs now: the first symbol is where it was. */
static gboolean
is_of_this_kernel (Session *self)
{
  const LuSourceInfo *info = &self->source_info;
  const LuKallsyms *symbols;
  LuKernelSymbol symbol;
  struct utsname name;
  gint index;

  if (info->live || self->kallsyms == NULL || info->kernel_symbol == NULL
      || info->os_release == NULL || uname (&name) != 0
      || !g_str_equal (name.release, info->os_release))
    return FALSE;
  symbols = lu_kallsyms_file_load (self->kallsyms);
  index = symbols != NULL ? lu_kallsyms_find (symbols, info->kernel_address) : -1;
  if (index < 0)
    return FALSE;
  lu_kallsyms_get (symbols, (guint) index, &symbol);
  return symbol.address == info->kernel_address
         && (index == 0 || g_str_equal (symbol.name, info->kernel_symbol));
}

/* Takes what is open of the outputs. */
static LuSink *
new_capture (Session *self, LuOutputs *outputs)
{
  gboolean has_capture = outputs->capture_fd >= 0;
  LuSink *sink = lu_syscap_sink_new (lu_fd_steal (&outputs->capture_fd));

  if (is_of_this_kernel (self))
    lu_syscap_sink_share_kallsyms (sink, self->kallsyms);
  /* other formats find names themselves if there is no capture to have them */
  if (!self->options->no_symbols && has_capture)
    lu_syscap_sink_add_symbols (sink, go_on_naming, self);
  if (self->debuginfod != NULL)
    lu_syscap_sink_set_debuginfod (sink, self->debuginfod);
  if (outputs->tee != NULL)
    lu_syscap_sink_take_tee (sink, g_steal_pointer (&outputs->tee));
  return sink;
}

static void
print_remark (const char *text)
{
  fprintf (stderr, "%s\n", text);
}

static void
set_lines (const Session *self, LuOutputs *outputs)
{
  outputs->lines = (self->options->lines ? LU_MODEL_LINES : 0u)
                   | (self->options->inlines ? LU_MODEL_INLINES : 0u);
  outputs->remark = self->options->quiet ? NULL : print_remark;
  outputs->debuginfod = self->debuginfod;
}

/* The files of a period; those of the first one are open already. */
static LuSink *
open_period (guint number, gint64 wall_clock, char ***paths, gpointer user_data, GError **error)
{
  Session *self = user_data;
  g_auto (LuOutputs) outputs = LU_OUTPUTS_INIT;

  if (number == 1)
    {
      outputs = self->outputs;
      self->outputs = (LuOutputs) LU_OUTPUTS_INIT;
    }
  set_lines (self, &outputs);
  if (number > 1 && !lu_outputs_open_at (&outputs, self->options->outputs, wall_clock, error))
    return NULL;
  *paths = g_steal_pointer (&outputs.paths);
  return new_capture (self, &outputs);
}

static char *describe_period (const LuPart *part, gpointer user_data);
static void wait_for_files (gpointer user_data);

/* A capture of our own, many of them, or one for a client. */
static LuSink *
new_sink (Session *self, gboolean live)
{
  const LuRotationFuncs funcs = { open_period, describe_period, wait_for_files };

  if (lu_options_is_helper (self->options))
    return lu_helper_sink (&self->helper, &self->options->helper,
                           lu_fd_steal (&self->outputs.capture_fd));
  if (self->options->rotate == 0)
    return new_capture (self, &self->outputs);
  self->rotation = lu_rotation_new (self->options->rotate * G_GUINT64_CONSTANT (1000000000),
                                    self->options->rotate_keep, live, &funcs, self);
  return lu_rotation_sink (self->rotation);
}

/* Whether new files can only be made with rights over folders of others, or given to who called
 * sudo. */
static gboolean
needs_rights_for_outputs (Session *self)
{
  gboolean needs = self->options->rotate > 0 && geteuid () == 0 && g_getenv ("SUDO_UID") != NULL;

  for (guint i = 0; self->options->rotate > 0 && self->options->outputs[i] != NULL; i++)
    {
      g_autofree char *folder = g_path_get_dirname (self->options->outputs[i]);
      struct stat st;

      needs |= geteuid () == 0 && stat (folder, &st) == 0 && st.st_uid != 0;
    }
  return needs;
}

/* From here on foreign files are read. */
static void
give_up_rights (Session *self, gboolean live)
{
  gboolean is_helper = lu_options_is_helper (self->options);
  LuNeeds needs = LU_NEEDS_FILES | (live ? LU_NEEDS_PROCESSES : 0)
                  | (live && !is_helper ? LU_NEEDS_EVENTS : 0)
                  | (self->options->command != NULL ? LU_NEEDS_COMMAND : 0)
                  | (needs_rights_for_outputs (self) ? LU_NEEDS_OUTPUTS : 0)
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
open_kernel_walks (Session *self, LuSource *source, gboolean follow_all, GError **error)
{
  const LuOptions *options = self->options;
  const char *reason, *remedy;

  if (options->input != NULL)
    return TRUE;
  self->kernel_walks = lu_kernel_walks_new (options, source, follow_all);
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

/* Builds the threads' objects back to front and starts them in the same order. */
static gboolean
start_threads (Session *self, LuSource *source_taken, GError **error)
{
  g_autoptr (LuSource) source = source_taken;
  LuDrainOptions drain_options = { .follow_all = self->options->all || self->options->input != NULL
                                                 || lu_options_is_helper (self->options),
                                   .pids = self->target.pids,
                                   .tids = self->options->tids,
                                   .command = self->command.pid,
                                   .include_self = self->options->include_self,
                                   .grow_stack = self->options->stack_size == 0,
                                   .log_progress = lu_options_is_helper (self->options) };
  LuUnwinder *unwinder = self->options->engine->new (error);
  LuDispatch *dispatch;
  LuRecording recording;
  LuSourceInfo info;

  if (unwinder == NULL || !open_kernel_walks (self, source, drain_options.follow_all, error))
    return FALSE;
  source->ops->get_info (source, &info);
  fill_recording (self, source, &recording);
  self->to_worker = lu_queue_new (WORKER_QUEUE_BYTES);
  self->from_worker = lu_queue_new (ANSWER_QUEUE_BYTES);
  self->to_writer = lu_queue_new (WRITER_QUEUE_BYTES);
  self->worker = lu_worker_new (unwinder, self->to_worker, self->from_worker, info.live);
  if (lu_options_is_helper (self->options))
    lu_worker_know_own_mounts (self->worker);
  self->source_info = info;
  self->source_info.trouble = NULL; /* of the whole recording */
  self->writer = lu_writer_new (new_sink (self, info.live), self->to_writer, self->from_worker,
                                !self->options->no_join, self->failed_fd);
  lu_writer_set_rotation (self->writer, self->rotation);
  dispatch = lu_dispatch_new (self->to_worker, self->to_writer,
                              self->options->engine->walks_in_drain, info.live);
  if (self->options->kernel_walks == LU_KERNEL_WALKS_CHECKED)
    lu_dispatch_pair (dispatch);
  self->drain = lu_drain_new (g_steal_pointer (&source), dispatch, self->writer, &drain_options,
                              self->ended_fd);
  if (!lu_writer_begin (self->writer, &recording, error))
    return FALSE;
  give_up_rights (self, info.live);
  open_tables (self);
  if (self->tables != NULL)
    lu_worker_set_tables (self->worker, self->tables);
  if (self->kernel_walks != NULL)
    {
      lu_kernel_walks_start (self->kernel_walks, self->tables);
      lu_drain_set_maps (self->drain, lu_kernel_walks_maps (self->kernel_walks));
    }
  lu_writer_start (self->writer);
  lu_worker_start (self->worker);
  if (!lu_drain_start (self->drain, error))
    {
      lu_queue_close (self->to_worker);
      lu_queue_close (self->to_writer);
      return FALSE;
    }
  self->start_us = g_get_monotonic_time ();
  self->busy_ns_at_start = busy_ns ();
  return TRUE;
}

static void
erase_status (Session *self)
{
  if (self->status_shown)
    fputs ("\r\033[K", stderr);
  self->status_shown = FALSE;
}

/* Only on a terminal that COMMAND does not write to as well. */
static gboolean
shows_status (Session *self)
{
  return !self->options->quiet && self->options->command == NULL && isatty (STDERR_FILENO);
}

static void
show_status (Session *self)
{
  LuWriterProgress progress;
  LuDrainProgress drain;
  double seconds = (double) (g_get_monotonic_time () - self->start_us) / 1e6;

  if (!shows_status (self))
    return;
  lu_writer_get_progress (self->writer, &progress);
  lu_drain_get_progress (self->drain, &drain);
  fputs ("\r\033[K", stderr);
  fprintf (stderr, _ ("%.0f s  %.0f samples/s  %.1f %% complete  %" PRIu64 " lost"), seconds,
           seconds > 0 ? (double) drain.taken / seconds : 0.0,
           progress.walked > 0 ? 100.0 * (double) progress.complete / (double) progress.walked
                               : 100.0,
           drain.lost_samples);
  self->status_shown = TRUE;
}

/* The first signal ends the recording, the second one the program; what is written by then is
 * readable. */
static void
handle_interrupt (Session *self, const struct signalfd_siginfo *info)
{
  if (self->naming_us != 0)
    {
      g_atomic_int_set (&self->skips_names, TRUE);
      return;
    }
  if (self->interrupted)
    {
      erase_status (self);
      _exit (128 + (int) info->ssi_signo);
    }
  self->interrupted = TRUE;
  /* A terminal sends Ctrl-C to COMMAND as well; what somebody sent to us alone is passed on. */
  if (info->ssi_code != SI_KERNEL && self->command.pid > 0 && !self->command.reaped)
    kill (self->command.pid, (int) info->ssi_signo);
}

static void
read_signals (Session *self)
{
  struct signalfd_siginfo info;

  while (read (self->signal_fd, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGCHLD)
      lu_command_reap (&self->command, FALSE);
    else
      handle_interrupt (self, &info);
}

/* Names are looked for when the recording is over, or a file of it. A signal after the recording
 * leaves out the rest of them. */
static gboolean
go_on_naming (guint done, guint total, gpointer user_data)
{
  Session *self = user_data;
  gint64 now = g_get_monotonic_time ();

  if (g_thread_self () != self->main_thread)
    return !g_atomic_int_get (&self->skips_names);
  if (self->naming_us == 0)
    self->naming_us = now;
  read_signals (self);
  if (shows_status (self) && now - self->naming_us > STATUS_INTERVAL_MS * 1000)
    {
      fputs ("\r\033[K", stderr);
      fprintf (stderr, _ ("Names: %u of %u files (Ctrl-C leaves out the rest)"), done, total);
      self->status_shown = TRUE;
    }
  return !g_atomic_int_get (&self->skips_names);
}

/* The last files are finished by a thread of their own. */
static void
wait_for_files (gpointer user_data)
{
  Session *self = user_data;

  if (self->naming_us == 0)
    self->naming_us = g_get_monotonic_time ();
  read_signals (self);
}

/* COMMAND, if there was one, has the terminal no more. */
static gboolean
shows_fetching (Session *self)
{
  return !self->options->quiet && isatty (STDERR_FILENO)
         && (self->options->command == NULL || self->command.reaped);
}

static gboolean
go_on_fetching (const char *name, guint64 done, guint64 total, gpointer user_data)
{
  Session *self = user_data;
  gint64 now = g_get_monotonic_time ();

  if (name == NULL)
    {
      erase_status (self);
      return TRUE;
    }
  if (self->naming_us == 0)
    self->naming_us = now;
  if (self->fetching_us == 0)
    self->fetching_us = now;
  read_signals (self);
  if (shows_fetching (self) && now - self->fetching_us > STATUS_INTERVAL_MS * 1000)
    {
      lu_fetcher_print_progress (name, done, total);
      self->status_shown = TRUE;
    }
  return !g_atomic_int_get (&self->skips_names);
}

static int
poll_timeout (Session *self)
{
  gint64 left_ms = G_MAXINT, end_us;

  if (self->options->duration > 0)
    {
      end_us = self->start_us + (gint64) (self->options->duration * 1e6);
      left_ms = CLAMP ((end_us - g_get_monotonic_time () + 999) / 1000, 0, G_MAXINT);
    }
  if (shows_status (self))
    left_ms = MIN (left_ms, STATUS_INTERVAL_MS);
  return left_ms == G_MAXINT ? -1 : (int) left_ms;
}

static gboolean
is_over (Session *self)
{
  double seconds = (double) (g_get_monotonic_time () - self->start_us) / 1e6;

  return self->interrupted || self->command.reaped
         || (self->options->duration > 0 && seconds >= self->options->duration);
}

static void
wait_for_the_end (Session *self)
{
  struct pollfd fds[] = { { .fd = self->signal_fd, .events = POLLIN },
                          { .fd = self->ended_fd, .events = POLLIN },
                          { .fd = self->failed_fd, .events = POLLIN },
                          { .fd = self->helper.event_fd, .events = POLLIN },
                          { .fd = self->helper.reader_fd } };

  while (!is_over (self))
    {
      if (poll (fds, G_N_ELEMENTS (fds), poll_timeout (self)) < 0 && errno != EINTR)
        break;
      read_signals (self);
      if (((fds[1].revents | fds[2].revents) & POLLIN) || fds[3].revents != 0
          || fds[4].revents != 0)
        break;
      show_status (self);
    }
  erase_status (self);
}

static guint64
rss_anon_bytes (void)
{
  g_autofree char *text = lu_fd_read_file ("/proc/self/status", 8192, NULL);
  const char *line = text != NULL ? strstr (text, "RssAnon:") : NULL;

  return line != NULL ? g_ascii_strtoull (line + strlen ("RssAnon:"), NULL, 10) * 1024 : 0;
}

static double
cpu_seconds (void)
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
lost_samples (Session *self)
{
  LuSource *source = lu_drain_source (self->drain);
  LuSourceStats stats;

  source->ops->get_stats (source, &stats);
  return stats.lost_samples;
}

/* What is known of one file while the recording goes on: its stacks exactly, and what else was
 * counted between its end and that of the one before. */
static char *
describe_period (const LuPart *part, gpointer user_data)
{
  Session *self = user_data;
  double cpu = cpu_seconds ();
  LuSummary summary = { .tally = &part->tally,
                        .source = self->source_info,
                        .seconds = (double) (part->end - part->begin) / 1e9,
                        .cpu_seconds = cpu - self->last_cpu_seconds,
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

static void
fill_summary (Session *self, LuSummary *summary)
{
  LuSource *source = lu_drain_source (self->drain);
  guint64 busy = busy_ns ();

  *summary = (LuSummary){ .tally = lu_writer_tally (self->writer) };
  lu_drain_get_progress (self->drain, &summary->drain);
  source->ops->get_info (source, &summary->source);
  source->ops->get_stats (source, &summary->source_stats);
  summary->seconds = (double) (self->stop_us - self->start_us) / 1e6;
  summary->cpu_seconds = cpu_seconds ();
  summary->expected_samples = summary->source_stats.expected_samples;
  if (self->options->all && self->busy_ns_at_start > 0)
    summary->expected_samples =
        (guint64) ((double) (busy - self->busy_ns_at_start) / 1e9 * summary->source.frequency);
  lu_worker_get_counts (self->worker, &summary->engine_counts);
  if (self->tables != NULL)
    lu_tables_get_stats (self->tables, &summary->tables);
  if (self->kernel_walks != NULL)
    lu_kernel_walks_get_stats (self->kernel_walks, &summary->kernel);
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
static int
failed (const Session *self, const GError *error)
{
  if (lu_options_is_helper (self->options) && g_error_matches (error, LU_ERROR, LU_ERROR_NO_READER))
    return 0;
  return report_error (error);
}

static int
report_summary (Session *self)
{
  LuSummary summary;
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  /* each of many files has its own */
  const char *key =
      self->rotation != NULL ? "live-unwinder.stats-of-all-files" : "live-unwinder.stats";
  const char *metadata[3] = { key, NULL, NULL };
  g_autofree char *line = NULL;
  gboolean ok;

  fill_summary (self, &summary);
  if (lu_options_is_helper (self->options))
    line = lu_drain_progress_line (self->drain);
  json = lu_summary_to_json (&summary);
  metadata[1] = json;
  if (self->debuginfod != NULL)
    lu_debuginfod_allow (self->debuginfod);
  ok = lu_writer_finish (self->writer, summary.source.live ? lu_monotonic_ns () : 0, line, metadata,
                         &error);
  self->naming_us = 0;
  erase_status (self);
  if (!self->options->quiet)
    lu_fetcher_print_summary (self->debuginfod);
  summary.output_bytes = lu_writer_bytes_written (self->writer);
  if (self->options->stats == LU_STATS_JSON)
    fprintf (stderr, "%s\n", json);
  else if (self->options->stats == LU_STATS_TEXT && !self->options->quiet)
    lu_summary_print (&summary);
  if (!ok)
    return failed (self, error);
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

static void
stop_threads (Session *self)
{
  lu_helper_stop (&self->helper);
  if (self->drain != NULL)
    lu_drain_stop (self->drain);
  self->stop_us = g_get_monotonic_time ();
  if (self->worker != NULL)
    lu_worker_join (self->worker);
  if (self->writer != NULL)
    lu_writer_join (self->writer);
  if (self->tables != NULL)
    lu_tables_stop (self->tables, TABLES_PATIENCE_MS);
}

/* COMMAND could not be started: what was recorded is nothing, so no file is left behind. */
static int
exec_error (Session *self, int exec_errno)
{
  fprintf (stderr, "live-unwinder: %s: %s\n", self->options->command[0], g_strerror (exec_errno));
  return exec_errno == ENOENT ? LU_EXIT_NOT_FOUND : LU_EXIT_NOT_EXECUTABLE;
}

/* The recording is over, COMMAND need not be; a signal now ends the waiting. */
static int
wait_for_command (Session *self, int our_code)
{
  struct pollfd fd = { .fd = self->signal_fd, .events = POLLIN };
  int code;

  while (!lu_command_reap (&self->command, FALSE))
    {
      poll (&fd, 1, STATUS_INTERVAL_MS);
      read_signals (self);
    }
  code = lu_command_exit_code (&self->command);
  return code != 0 ? code : our_code;
}

static int
record (Session *self)
{
  int exec_errno = 0, code;

  if (self->options->command != NULL)
    exec_errno = lu_command_go (&self->command);
  if (exec_errno == 0)
    wait_for_the_end (self);
  stop_threads (self);
  if (exec_errno != 0)
    return exec_error (self, exec_errno);
  code = report_summary (self);
  return self->options->command != NULL ? wait_for_command (self, code) : code;
}

static gboolean
open_outputs (Session *self, GError **error)
{
  const LuOptions *options = self->options;

  set_lines (self, &self->outputs);
  if (self->outputs.tee != NULL || self->outputs.capture_fd >= 0) /* they are given */
    return TRUE;
  if (options->rotate == 0)
    return lu_outputs_open (&self->outputs, options->outputs, options->force, error);
  return lu_outputs_can_rotate (options->outputs, error)
         && lu_outputs_open_at (&self->outputs, options->outputs, g_get_real_time (), error);
}

/* Before anything is open, and while there is one thread. */
static gboolean
start_fetcher (Session *self, GError **error)
{
  if (!lu_fetcher_start (self->options->debuginfod, &self->debuginfod, error))
    return FALSE;
  if (self->debuginfod != NULL)
    lu_debuginfod_set_progress (self->debuginfod, go_on_fetching, self);
  return TRUE;
}

static gboolean
prepare (Session *self, GError **error)
{
  g_autoptr (LuSource) source = NULL;

  if (!start_fetcher (self, error) || !block_signals (self, error))
    return FALSE;
  if (lu_options_is_helper (self->options))
    {
      source = lu_helper_open_source (self->options, error);
      return source != NULL
             && lu_helper_open (&self->helper, &self->options->helper, &self->outputs.capture_fd,
                                error)
             && start_threads (self, g_steal_pointer (&source), error);
    }
  if (!open_outputs (self, error))
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

static void
session_clear (Session *self)
{
  lu_command_clear (&self->command);
  lu_drain_free (self->drain); /* its events run the program */
  lu_kernel_walks_free (self->kernel_walks);
  lu_worker_free (self->worker);
  lu_tables_free (self->tables);
  lu_writer_free (self->writer);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->from_worker);
  lu_queue_free (self->to_writer);
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
replay_to_the_end (Session *self, GError **error)
{
  const char *metadata[3] = { LU_SYSCAP_KEY_STATS, NULL, NULL };
  g_autofree char *json = NULL;
  LuSummary summary;

  wait_for_the_end (self);
  stop_threads (self);
  if (self->interrupted)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, _ ("interrupted"));
      return FALSE;
    }
  fill_summary (self, &summary);
  metadata[1] = json = lu_summary_to_json (&summary);
  if (self->debuginfod != NULL)
    lu_debuginfod_allow (self->debuginfod);
  if (!lu_writer_finish (self->writer, 0, NULL, metadata, error))
    return FALSE;
  erase_status (self);
  lu_fetcher_print_summary (self->debuginfod);
  return TRUE;
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
  Session self = SESSION_INIT (options);
  g_autoptr (GError) error = NULL;
  int code;

  code = prepare (&self, &error) ? record (&self) : failed (&self, error);
  session_clear (&self);
  return code;
}

/* What comes after is interrupted by signals as ever. */
gboolean
lu_session_replay (const LuOptions *options, LuOutputs *outputs, LuKallsymsFile *kallsyms,
                   GError **error)
{
  Session self = SESSION_INIT (options);
  sigset_t before;
  gboolean ok;

  sigprocmask (SIG_BLOCK, NULL, &before);
  self.kallsyms = kallsyms != NULL ? lu_kallsyms_file_ref (kallsyms) : NULL;
  self.outputs = *outputs;
  *outputs = (LuOutputs) LU_OUTPUTS_INIT;
  ok = prepare (&self, error) && replay_to_the_end (&self, error);
  session_clear (&self);
  signal (SIGPIPE, SIG_DFL);
  sigprocmask (SIG_SETMASK, &before, NULL);
  return ok;
}
