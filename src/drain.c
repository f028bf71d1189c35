/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain.c - empties the rings; see drain.h. */

#include "drain.h"

#include "asking.h"
#include "base/clock.h"
#include "base/counter.h"
#include "copy-size.h"
#include "lu/bpf.h"
#include "pace.h"
#include "process/process-table.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* The kernel would make 50 us more of it. */
#define TIMER_SLACK_NS 1000
#define RETRY_US       500
/* When it is sampled, that is at once if it has lived for so long; a process that starts and ends
 * in less has ended when the worker gets to it. */
#define SAMPLED_AGE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000)
/* While the rings are less full, samples that the worker has no room for wait in them: it may be
 * opening the files of a program that has just started. */
#define SLACK_FILL 0.5
/* The last samples of a stopped source are read for this long at most. */
#define LAST_DRAIN_US (10 * G_USEC_PER_SEC)
/* A round handles every sample committed before it began, so the second one after an end has the
 * last. */
#define ROUNDS_AFTER_END 2
/* The last seconds of a recording may not be read by a client, so it is told now and then. */
#define LOG_INTERVAL_US (5 * G_USEC_PER_SEC)

struct _LuDrain
{
  LuSource *source;     /* owned */
  LuDispatch *dispatch; /* owned */
  LuWriter *writer;     /* borrowed: for what it counts */
  LuDrainOptions options;
  LuProcessTable *table;
  LuBpfMaps *maps;       /* borrowed; NULL: there are no walks in the kernel */
  gboolean is_flushed;   /* they have the side-band of this round */
  LuAsking *asking;      /* owned */
  LuCopySize *copy_size; /* owned */
  GHashTable *tids;      /* set; NULL: all */
  GThread *thread;
  int wake_fd, ended_fd;
  pid_t own_pid;
  gboolean live;             /* the processes exist now */
  guint64 command_exec_time; /* when COMMAND replaced us in the child; far ahead until then */
  guint64 handled_lost_sideband;
  guint logged_cpu_changes;
  gint64 last_tick, last_log;
  guint rounds_after_end;
  gboolean has_processes; /* /proc was read */
  LuPace pace;
  LuPaceFacts met;    /* in this round, as far as it went */
  gboolean has_slack; /* rings may fill: samples can wait in them */

  atomic_bool quit, ended;
  atomic_ullong seen, own, others, taken, throttled, lost_samples;
};

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  LuDrain *self = user_data;
  const LuMapping *mapping;

  self->met.has_requests = TRUE;
  lu_dispatch_open (self->dispatch, module, lu_process_pid (process), start, end);
  if (self->maps == NULL)
    return;
  mapping = lu_space_find (lu_process_space (process), start);
  if (mapping != NULL && mapping->module == module)
    lu_bpf_maps_introduce (self->maps, mapping, lu_process_start_time (process) != 0);
}

/* A child that executes nothing has its parent's command line, and those that ran before the
 * recording may never be sampled: what more they need has time until they are. */
static void
process_added (LuProcess *process, gboolean is_exec, gpointer user_data)
{
  LuDrain *self = user_data;

  if (is_exec && !self->met.are_told)
    lu_asking_later (self->asking, process);
}

static void
forked (guint64 time, gint32 pid, gint32 child_pid, gpointer user_data)
{
  LuDrain *self = user_data;

  lu_dispatch_fork (self->dispatch, time, pid, child_pid);
}

static void
exited (guint64 time, gint32 pid, gpointer user_data)
{
  LuDrain *self = user_data;

  lu_dispatch_exit (self->dispatch, time, pid);
}

static void
space_changed (LuProcess *process, LuSpace *space, LuSpaceChange change, gint32 parent_pid,
               gpointer user_data)
{
  LuDrain *self = user_data;

  if (self->maps != NULL)
    lu_bpf_maps_space_changed (self->maps, process, change, parent_pid);
}

/* What was opened by the time the worker has nothing to do is seen by the flush behind it. */
static void
flush_maps (LuDrain *self)
{
  gboolean is_opening = lu_dispatch_has_requests (self->dispatch);
  LuBpfMapsWait wait = self->maps != NULL ? lu_bpf_maps_flush (self->maps) : LU_BPF_MAPS_WAIT_NO;

  self->met.maps_wait =
      wait == LU_BPF_MAPS_WAIT_MEMORY || (wait == LU_BPF_MAPS_WAIT_FILES && is_opening);
}

static const LuProcessTableFuncs table_funcs = {
  .module_added = module_added,
  .process_added = process_added,
  .forked = forked,
  .exited = exited,
  .space_changed = space_changed,
};

static void
log_event (LuDrain *self, const LuEvent *event)
{
  char text[128];

  switch (event->kind)
    {
    case LU_EVENT_LOST:
    case LU_EVENT_LOST_SAMPLES:
      g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT " records lost on CPU %d",
                  event->lost.count, event->cpu);
      break;
    case LU_EVENT_THROTTLE:
      lu_counter_bump (&self->throttled);
      g_snprintf (text, sizeof text, "the kernel throttled sampling on CPU %d", event->cpu);
      break;
    default:
      return;
    }
  lu_dispatch_log (self->dispatch, event->time, text);
}

/* The counter of what keeps a sample out of the recording, or NULL if it belongs to it. */
static atomic_ullong *
reason_to_skip (LuDrain *self, const LuEvent *event)
{
  if (self->live && event->pid == self->own_pid && !self->options.include_self)
    return &self->own;
  /* The child is a copy of us until it executes COMMAND. */
  if (self->options.command != 0 && event->pid == self->options.command
      && event->time < self->command_exec_time)
    return &self->own;
  if (event->pid < 0)
    return &self->others;
  if (self->tids != NULL && !g_hash_table_contains (self->tids, GINT_TO_POINTER (event->tid)))
    return &self->others;
  return NULL;
}

/* Walks by what was published say nothing new, nor do samples without a user stack. What has ended
 * is published no more. */
static void
count_for_maps (LuDrain *self, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  gboolean is_walked = event->kind == LU_EVENT_WALKED;

  if (self->maps == NULL
      || (is_walked ? (event->walked.flags & LU_BPF_RECORD_VMAS) == 0
                    : event->sample.stack_size == 0))
    return;
  if (lu_bpf_maps_wants (self->maps, process, space, is_walked)
      && lu_process_table_is_current (self->table, process))
    lu_bpf_maps_watch (self->maps, process);
}

static void
prepare_process (LuDrain *self, LuProcess *process, guint64 time)
{
  guint64 start = lu_process_start_time (process);

  if (lu_process_ask_once (process, LU_PROCESS_MODULES) != 0)
    lu_process_table_announce (self->table, process);
  if (start == 0 || time > start + SAMPLED_AGE_NS)
    lu_asking_now (self->asking, process, LU_PROCESS_NAME | LU_PROCESS_MOUNTS);
  else if (!lu_process_has_command_line (process) || !lu_process_maps_our_files (process))
    lu_asking_later (self->asking, process);
}

static LuDispatchResult
hand_over (LuDrain *self, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  if (event->kind == LU_EVENT_WALKED)
    {
      self->met.n_walked++;
      return lu_dispatch_walked (self->dispatch, event, process, space);
    }
  self->met.n_copies++;
  return lu_dispatch_sample (self->dispatch, event, process, space, self->has_slack);
}

/* All side-band of the round has been applied when its first sample comes. */
static void
flush_after_sideband (LuDrain *self)
{
  if (self->is_flushed)
    return;
  self->is_flushed = TRUE;
  flush_maps (self);
}

static LuVerdict
take_sample (LuDrain *self, const LuEvent *event)
{
  atomic_ullong *skipped = reason_to_skip (self, event);
  LuProcess *process;
  LuSpace *space;

  if (skipped == NULL
      && !lu_process_table_lookup (self->table, event->pid, event->time, &process, &space))
    skipped = &self->others;
  if (self->maps != NULL && self->met.had_sideband)
    flush_after_sideband (self);
  if (skipped == NULL)
    prepare_process (self, process, event->time);
  if (skipped == NULL && hand_over (self, event, process, space) == LU_DISPATCH_NO_ROOM)
    return LU_VERDICT_LATER;
  /* The same sample comes once more, with a copy. */
  if (event->kind == LU_EVENT_WALKED && lu_dispatch_is_pairing (self->dispatch))
    return LU_VERDICT_DONE;
  lu_counter_bump (&self->seen);
  lu_counter_bump (skipped != NULL ? skipped : &self->taken);
  if (skipped == NULL)
    count_for_maps (self, event, process, space);
  return LU_VERDICT_DONE;
}

/* All side-band up to here has been applied, so it is the process that the arguments were read of.
 */
static void
take_arguments (LuDrain *self, const LuEvent *event)
{
  char text[LU_BPF_MAX_ARGUMENTS];
  LuProcess *process;
  LuSpace *space;

  self->met.are_told = TRUE;
  if (!lu_process_table_follows (self->table, event->pid)
      || !lu_process_table_lookup (self->table, event->pid, event->time, &process, &space)
      || lu_process_has_command_line (process))
    return;
  memcpy (text, event->arguments.text, event->arguments.size);
  lu_process_set_arguments (process, text, event->arguments.size);
}

static LuVerdict
handle_event (const LuEvent *event, gpointer user_data)
{
  LuDrain *self = user_data;

  if (event->kind == LU_EVENT_SAMPLE || event->kind == LU_EVENT_WALKED)
    return take_sample (self, event);
  if (event->kind == LU_EVENT_ARGUMENTS)
    {
      take_arguments (self, event);
      return LU_VERDICT_DONE;
    }
  self->met.had_sideband = TRUE;
  switch (event->kind)
    {
    case LU_EVENT_COMM:
      if (event->comm.is_exec && event->pid == self->options.command)
        self->command_exec_time = MIN (self->command_exec_time, event->time);
      lu_process_table_apply (self->table, event);
      break;
    case LU_EVENT_LOST:
    case LU_EVENT_LOST_SAMPLES:
    case LU_EVENT_THROTTLE:
      log_event (self, event);
      break;
    default:
      lu_process_table_apply (self->table, event);
      break;
    }
  /* After it was applied: a child is recorded if its parent is. */
  self->met.had_news = self->met.had_news || lu_process_table_follows (self->table, event->pid);
  return LU_VERDICT_DONE;
}

/* Looks after what goes wrong meanwhile. Reads files: between rounds only. */
static void
look_after_source (LuDrain *self)
{
  LuSourceStats stats;

  self->source->ops->get_stats (self->source, &stats);
  atomic_store (&self->lost_samples, stats.lost_samples);
  if (stats.cpu_changes > self->logged_cpu_changes)
    lu_dispatch_log (self->dispatch, lu_monotonic_ns (), "CPUs came or went");
  self->logged_cpu_changes = stats.cpu_changes;
  if (!self->live)
    return;
  if (stats.lost_sideband > self->handled_lost_sideband)
    {
      lu_process_table_discover_all (self->table, lu_monotonic_ns ());
      lu_process_table_bury_dead (self->table, lu_monotonic_ns ());
    }
  self->handled_lost_sideband = stats.lost_sideband;
  lu_process_table_repair (self->table, lu_monotonic_ns ());
}

static void
log_progress (LuDrain *self, gint64 now)
{
  g_autofree char *line = NULL;

  if (self->last_log == 0)
    self->last_log = now;
  if (!self->options.log_progress || now - self->last_log < LOG_INTERVAL_US)
    return;
  self->last_log = now;
  line = lu_drain_progress_line (self);
  lu_dispatch_log (self->dispatch, lu_monotonic_ns (), line);
}

static void
tick (LuDrain *self)
{
  gint64 now = g_get_monotonic_time ();

  lu_copy_size_tick (self->copy_size);
  if (now - self->last_tick < G_USEC_PER_SEC)
    return;
  self->last_tick = now;
  if (self->source->ops->tick != NULL)
    self->source->ops->tick (self->source);
  look_after_source (self);
  log_progress (self, now);
  lu_dispatch_trim (self->dispatch);
}

static void
announce_end (LuDrain *self)
{
  guint64 one = 1;

  if (atomic_exchange (&self->ended, true))
    return;
  if (write (self->ended_fd, &one, sizeof one) < 0)
    g_debug ("eventfd: %s", g_strerror (errno));
}

/* Nothing that is recorded lives any more. The rest of the system need not be quiet for that. */
static gboolean
is_deserted (LuDrain *self)
{
  return !self->options.follow_all && !lu_process_table_has_live (self->table);
}

static LuRound
one_round (LuDrain *self)
{
  LuRound round;

  self->met = (LuPaceFacts){ .are_told = self->met.are_told };
  self->is_flushed = FALSE;
  self->has_slack = self->source->ops->get_fill != NULL
                    && self->source->ops->get_fill (self->source) < SLACK_FILL;
  round = self->source->ops->drain (self->source, handle_event, self);
  lu_asking_end_round (self->asking);
  flush_maps (self);
  if (round == LU_ROUND_CLOSED || round == LU_ROUND_EMPTY)
    {
      lu_process_table_end_round (self->table);
      self->rounds_after_end += is_deserted (self);
    }
  if (round == LU_ROUND_END || self->rounds_after_end >= ROUNDS_AFTER_END)
    announce_end (self);
  return round;
}

/* Side-band goes on, so the rings need not run empty; a closed round has read all samples. */
static void
last_rounds (LuDrain *self)
{
  gint64 deadline = g_get_monotonic_time () + LAST_DRAIN_US;
  guint n_closed = 0;

  self->source->ops->stop (self->source);
  while (n_closed < ROUNDS_AFTER_END && g_get_monotonic_time () < deadline)
    {
      LuRound round = one_round (self);

      lu_dispatch_end_round (self->dispatch);
      if (round == LU_ROUND_OPEN)
        g_usleep (RETRY_US);
      else
        n_closed++;
    }
}

/* What the round did not note by itself. */
static void
complete_facts (LuDrain *self, LuRound round, gboolean is_unwritten)
{
  LuPaceFacts *met = &self->met;

  met->is_empty = round == LU_ROUND_EMPTY;
  met->is_unwritten = is_unwritten;
  met->has_requests = met->has_requests || lu_dispatch_has_requests (self->dispatch);
  met->n_young = lu_asking_n_young (self->asking);
  met->n_absent = lu_dispatch_n_absent (self->dispatch);
  met->is_cut_off = lu_copy_size_is_short (self->copy_size);
}

static void
wait_for_news (LuDrain *self, LuRound round, gboolean is_unwritten)
{
  if (round == LU_ROUND_OPEN)
    g_usleep (RETRY_US);
  else if (self->source->ops->wait != NULL)
    {
      int timeout_ms;
      gulong settle_us;

      complete_facts (self, round, is_unwritten);
      timeout_ms = lu_pace_wait_ms (&self->pace, &self->met, g_get_monotonic_time ());
      settle_us = lu_pace_settle_us (&self->pace, &self->met);
      if (settle_us > 0)
        g_usleep (settle_us);
      self->source->ops->wait (self->source, self->wake_fd, timeout_ms);
    }
}

static gpointer
drain_main (gpointer data)
{
  LuDrain *self = data;

  if (self->maps != NULL && !self->pace.is_paced)
    prctl (PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
  while (!atomic_load (&self->quit))
    {
      LuRound round = one_round (self);

      tick (self);
      if (round == LU_ROUND_END)
        break;
      wait_for_news (self, round, lu_dispatch_end_round (self->dispatch));
    }
  last_rounds (self);
  lu_dispatch_close (self->dispatch);
  return NULL;
}

LuDrain *
lu_drain_new (LuSource *source, LuDispatch *dispatch, LuWriter *writer,
              const LuDrainOptions *options, int ended_fd)
{
  LuDrain *self = g_new0 (LuDrain, 1);
  LuSourceInfo info;

  self->source = source;
  self->dispatch = dispatch;
  self->writer = writer;
  self->options = *options;
  self->ended_fd = ended_fd;
  self->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->own_pid = getpid ();
  self->command_exec_time = G_MAXUINT64;
  self->table = lu_process_table_new (options->follow_all, &table_funcs, self);
  if (options->tids != NULL)
    {
      self->tids = g_hash_table_new (NULL, NULL);
      for (guint i = 0; i < options->tids->len; i++)
        g_hash_table_add (self->tids, GINT_TO_POINTER (g_array_index (options->tids, pid_t, i)));
    }
  source->ops->get_info (source, &info);
  self->live = info.live;
  self->asking = lu_asking_new (self->table, dispatch, info.live);
  lu_pace_init (&self->pace, info.is_paced);
  self->copy_size =
      lu_copy_size_new (source, dispatch, writer, info.stack_size, options->grow_stack);
  if (lu_copy_size_may_grow (self->copy_size))
    lu_pace_hurry (&self->pace, g_get_monotonic_time ());
  return self;
}

void
lu_drain_set_maps (LuDrain *self, LuBpfMaps *maps)
{
  self->maps = maps;
  self->pace.has_walks = maps != NULL;
}

static void
find_processes (LuDrain *self)
{
  for (guint i = 0; self->options.pids != NULL && i < self->options.pids->len; i++)
    lu_process_table_follow (self->table, g_array_index (self->options.pids, pid_t, i));
  if (self->live)
    lu_process_table_discover_all (self->table, 0);
  self->has_processes = TRUE;
}

void
lu_drain_run_ahead (LuDrain *self, int until_fd)
{
  struct pollfd until = { .fd = until_fd, .events = POLLIN };

  find_processes (self);
  if (until_fd < 0)
    return;
  do
    {
      LuRound round = one_round (self);

      lu_dispatch_end_round (self->dispatch);
      if (round == LU_ROUND_OPEN)
        g_usleep (RETRY_US);
      else
        self->source->ops->wait (self->source, until_fd, LU_PACE_HURRY_MS);
    }
  while (poll (&until, 1, 0) == 0);
}

gboolean
lu_drain_start (LuDrain *self, GError **error)
{
  if (!self->has_processes)
    find_processes (self);
  else if (self->maps != NULL && lu_bpf_maps_has_all (self->maps))
    lu_process_table_discover_all (self->table, lu_monotonic_ns ());
  flush_maps (self);
  if (!self->source->ops->start (self->source, error))
    return FALSE;
  self->thread = g_thread_new ("drain", drain_main, self);
  return TRUE;
}

void
lu_drain_stop (LuDrain *self)
{
  guint64 one = 1;

  if (self->thread == NULL)
    return;
  atomic_store (&self->quit, true);
  if (write (self->wake_fd, &one, sizeof one) < 0)
    g_debug ("eventfd: %s", g_strerror (errno));
  g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_drain_free (LuDrain *self)
{
  if (self == NULL)
    return;
  lu_drain_stop (self);
  lu_asking_free (self->asking);
  lu_copy_size_free (self->copy_size);
  lu_process_table_free (self->table);
  lu_dispatch_free (self->dispatch);
  lu_source_free (self->source);
  g_clear_pointer (&self->tids, g_hash_table_unref);
  close (self->wake_fd);
  g_free (self);
}

void
lu_drain_get_progress (LuDrain *self, LuDrainProgress *progress)
{
  LuDispatchProgress dispatch;
  guint n_grown;
  guint32 stack_size = lu_copy_size_get (self->copy_size, &n_grown);

  lu_dispatch_get_progress (self->dispatch, &dispatch);
  *progress = (LuDrainProgress){
    .seen = atomic_load (&self->seen),
    .own = atomic_load (&self->own),
    .others = atomic_load (&self->others),
    .taken = atomic_load (&self->taken),
    .walked = dispatch.walked,
    .in_kernel = dispatch.in_kernel,
    .stale = dispatch.stale,
    .strange = dispatch.strange,
    .handed_on = dispatch.handed_on,
    .over_worker = dispatch.over_worker,
    .over_budget = dispatch.over_budget,
    .throttled = atomic_load (&self->throttled),
    .lost_samples = atomic_load (&self->lost_samples),
    .ended = atomic_load (&self->ended),
    .stack_size = stack_size,
    .stack_grown = n_grown,
  };
}

char *
lu_drain_progress_line (LuDrain *self)
{
  LuDrainProgress progress;
  LuWriterProgress written;
  LuSourceStats stats;
  LuSourceInfo info;

  lu_drain_get_progress (self, &progress);
  self->source->ops->get_stats (self->source, &stats);
  lu_writer_get_progress (self->writer, &written);
  self->source->ops->get_info (self->source, &info);
  return g_strdup_printf (
      "%" G_GUINT64_FORMAT " samples, %.2f %% of %" G_GUINT64_FORMAT
      " stacks complete, %s%" G_GUINT64_FORMAT " lost, throttled %" G_GUINT64_FORMAT
      " times; live-unwinder itself was hit by %" G_GUINT64_FORMAT " (%.2f %%), left out%s%s",
      progress.taken,
      written.walked > 0 ? 100.0 * (double) written.complete / (double) written.walked : 100.0,
      written.walked, info.has_lost_counter ? "" : "at least ", stats.lost_samples,
      progress.throttled, progress.own,
      progress.seen > 0 ? 100.0 * (double) progress.own / (double) progress.seen : 0.0,
      info.trouble != NULL ? "; " : "", info.trouble != NULL ? info.trouble : "");
}

LuSource *
lu_drain_source (LuDrain *self)
{
  return self->source;
}
