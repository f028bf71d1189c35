/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain.c - the thread that empties the rings, round by round; see drain.h. */

#include "drain-private.h"

#include "base/clock.h"
#include "capture/syscap-format.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The kernel may delay a sleep by this much; the default is 50 us. */
#define TIMER_SLACK_NS 1000
#define RETRY_US       500
/* While the rings are less full than this, samples that the worker has no room for stay in them: it
 * may be opening the files of a program that has just started. */
#define SLACK_FILL 0.5
/* Longest time to read the last samples of a stopped source: while the writer has no room for them,
 * and while the worker has none. */
#define LAST_DRAIN_US      (10 * G_USEC_PER_SEC)
#define LAST_FOR_WORKER_US (200 * 1000)
/* A round handles every sample committed before it began, so the second round after an end handles
 * the last sample. */
#define ROUNDS_AFTER_END 2
/* Time from one tick to the next for reading mappings of processes that may have moved their code:
 * such lists can be long, and programs can move code all the time. */
#define MOVED_TEXT_US 20000
/* A client may not read the last seconds of a recording, so it gets a line about the progress this
 * often. */
#define LOG_INTERVAL_US (5 * G_USEC_PER_SEC)

/* Notes lost records and CPUs that came or went, and repairs what is known of processes. Reads
 * files, so call it only between rounds. */
static void
look_after_source (LuDrain *self)
{
  const LuCounters *counters = &self->source->counters;
  guint64 cpu_changes, lost_sideband;

  lu_source_update_counters (self->source);
  cpu_changes = lu_counters_get (counters, LU_COUNTER_CPU_CHANGES);
  lost_sideband = lu_counters_get (counters, LU_COUNTER_LOST_SIDEBAND);
  if (cpu_changes > self->logged_cpu_changes)
    lu_dispatch_log (self->dispatch, lu_monotonic_ns (), "CPUs came or went");
  self->logged_cpu_changes = cpu_changes;
  if (!self->live)
    return;
  if (lost_sideband > self->handled_lost_sideband)
    {
      lu_process_table_discover_all (self->table, lu_monotonic_ns ());
      lu_process_table_bury_dead (self->table, lu_monotonic_ns ());
    }
  self->handled_lost_sideband = lost_sideband;
  lu_process_table_repair (self->table, lu_monotonic_ns ());
}

/* Recognizes code that a program has just moved to other memory: until then it is nobody's. Each
 * sample counts, so this does not wait for the next tick. */
static void
look_for_moved_text (LuDrain *self)
{
  while (self->live && self->moved_text_us < MOVED_TEXT_US)
    {
      gint64 start = g_get_monotonic_time ();

      if (!lu_process_table_read_moved_text (self->table, lu_monotonic_ns ()))
        return;
      self->moved_text_us += g_get_monotonic_time () - start;
    }
}

/* Recognizes copies of a file's code, one after the other. */
static void
compare_copies (LuDrain *self)
{
  LuCopiedText answer;

  if (self->reader == NULL)
    return;
  if (lu_memory_reader_take_compared (self->reader, &answer))
    lu_process_table_settle_copy (self->table, &answer, lu_monotonic_ns ());
  if (self->copy.pid == 0 && !lu_process_table_next_copy (self->table, &self->copy))
    return;
  if (lu_memory_reader_compare (self->reader, &self->copy))
    self->copy.pid = 0;
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
log_losses (LuDrain *self)
{
  guint64 lost = lu_counters_get (&self->source->counters, LU_COUNTER_LOST_SAMPLES);
  g_autofree char *line = NULL;

  if (lost <= self->logged_lost)
    return;
  line = g_strdup_printf (LU_SYSCAP_LOST, lost - self->logged_lost);
  self->logged_lost = lost;
  lu_dispatch_log (self->dispatch, lu_monotonic_ns (), line);
}

static void
tick (LuDrain *self)
{
  gint64 now = g_get_monotonic_time ();
  guint64 n_bpf_unwound =
      lu_counters_get (lu_dispatch_counters (self->dispatch), LU_COUNTER_BPF_UNWOUND);
  g_autoptr (GError) error = NULL;

  if (!lu_copy_size_tick (self->options.copy_size, n_bpf_unwound, &error))
    lu_dispatch_log (self->dispatch, lu_monotonic_ns (), error->message);
  if (now - self->last_tick < G_USEC_PER_SEC)
    return;
  self->last_tick = now;
  self->moved_text_us = 0;
  if (self->source->ops->tick != NULL)
    self->source->ops->tick (self->source);
  look_after_source (self);
  log_losses (self);
  log_progress (self, now);
  lu_dispatch_trim (self->dispatch);
}

static void
announce_end (LuDrain *self)
{
  if (!atomic_exchange (&self->ended, true))
    eventfd_write (self->ended_fd, 1);
}

/* Returns whether all that is recorded has ended; other processes may go on. */
static gboolean
is_deserted (LuDrain *self)
{
  return !self->options.follow_all && !lu_process_table_has_live (self->table);
}

static LuRound
one_round (LuDrain *self)
{
  LuRound round;

  self->met = (LuPollFacts){ .has_arguments = self->met.has_arguments };
  self->is_flushed = FALSE;
  self->has_slack =
      self->source->ops->get_fill != NULL && self->source->ops->get_fill (self->source) < SLACK_FILL
      && (self->stopped == 0 || g_get_monotonic_time () - self->stopped < LAST_FOR_WORKER_US);
  round = self->source->ops->drain (self->source, lu_drain_handle_event, self);
  lu_process_info_end_round (self->process_info);
  look_for_moved_text (self);
  compare_copies (self);
  lu_drain_flush_maps (self);
  if (round == LU_ROUND_CLOSED || round == LU_ROUND_EMPTY)
    {
      lu_process_table_end_round (self->table);
      self->rounds_after_end += is_deserted (self);
    }
  if (round == LU_ROUND_END || self->rounds_after_end >= ROUNDS_AFTER_END)
    announce_end (self);
  return round;
}

/* Reads the last samples. Side-band goes on, so the rings need not run empty; a closed round has
 * read all samples. */
static void
last_rounds (LuDrain *self)
{
  guint n_closed = 0;

  self->source->ops->stop (self->source);
  self->stopped = g_get_monotonic_time ();
  while (n_closed < ROUNDS_AFTER_END && g_get_monotonic_time () - self->stopped < LAST_DRAIN_US)
    {
      LuRound round = one_round (self);

      lu_dispatch_end_round (self->dispatch);
      if (round == LU_ROUND_OPEN)
        g_usleep (RETRY_US);
      else
        n_closed++;
    }
}

/* Adds the facts that are known after the round. */
static void
complete_facts (LuDrain *self, LuRound round, gboolean is_unwritten)
{
  LuPollFacts *met = &self->met;

  met->is_empty = round == LU_ROUND_EMPTY;
  met->is_unwritten = is_unwritten;
  met->has_requests = met->has_requests || lu_dispatch_has_requests (self->dispatch);
  met->n_young = lu_process_info_n_young (self->process_info);
  met->n_absent = lu_dispatch_n_absent (self->dispatch);
  met->is_cut_off = lu_copy_size_is_short (self->options.copy_size);
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
      timeout_ms =
          lu_poll_scheduler_wait_ms (&self->scheduler, &self->met, g_get_monotonic_time ());
      settle_us = lu_poll_scheduler_settle_us (&self->scheduler, &self->met);
      if (settle_us > 0)
        g_usleep (settle_us);
      self->source->ops->wait (self->source, self->wake_fd, timeout_ms);
    }
}

static gpointer
drain_main (gpointer data)
{
  LuDrain *self = data;

  if (self->maps != NULL && !self->scheduler.batches_itself)
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
  lu_source_update_counters (self->source);
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
  self->table = lu_process_table_new (options->follow_all, &lu_drain_table_funcs, self);
  if (options->tids != NULL)
    {
      self->tids = g_hash_table_new (NULL, NULL);
      for (guint i = 0; i < options->tids->len; i++)
        g_hash_table_add (self->tids, GINT_TO_POINTER (g_array_index (options->tids, pid_t, i)));
    }
  source->ops->get_info (source, &info);
  self->live = info.live;
  self->process_info = lu_process_info_new (self->table, dispatch, info.live);
  lu_poll_scheduler_init (&self->scheduler, info.batches_itself);
  if (lu_copy_size_may_grow (options->copy_size))
    lu_poll_scheduler_hurry (&self->scheduler, g_get_monotonic_time ());
  return self;
}

void
lu_drain_set_maps (LuDrain *self, LuBpfMaps *maps)
{
  self->maps = maps;
  self->scheduler.bpf_unwinds = maps != NULL;
}

void
lu_drain_use_memory_reader (LuDrain *self, LuMemoryReader *reader)
{
  self->reader = reader;
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
        self->source->ops->wait (self->source, until_fd, LU_POLL_HURRY_MS);
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
  lu_drain_flush_maps (self);
  if (!self->source->ops->start (self->source, error))
    return FALSE;
  self->thread = g_thread_new ("drain", drain_main, self);
  return TRUE;
}

void
lu_drain_stop (LuDrain *self)
{
  if (self->thread == NULL)
    return;
  atomic_store (&self->quit, true);
  eventfd_write (self->wake_fd, 1);
  g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_drain_free (LuDrain *self)
{
  if (self == NULL)
    return;
  lu_drain_stop (self);
  lu_process_info_free (self->process_info);
  lu_process_table_free (self->table);
  lu_dispatch_free (self->dispatch);
  lu_source_free (self->source);
  g_clear_pointer (&self->tids, g_hash_table_unref);
  close (self->wake_fd);
  g_free (self);
}

void
lu_drain_add_counters (const LuDrain *self, LuCounters *sum)
{
  lu_counters_add (sum, &self->counters);
  lu_counters_add (sum, lu_dispatch_counters (self->dispatch));
  lu_counters_add (sum, &self->source->counters);
}

char *
lu_drain_progress_line (LuDrain *self)
{
  const LuCounters *counters = &self->counters;
  guint64 own = lu_counters_get (counters, LU_COUNTER_OWN);
  guint64 seen = lu_counters_get (counters, LU_COUNTER_SEEN);
  g_autofree char *complete = NULL;
  LuWriterProgress written;
  LuSourceInfo info;

  lu_writer_get_progress (self->writer, &written);
  self->source->ops->get_info (self->source, &info);
  if (written.unwindable > 0)
    complete = g_strdup_printf ("%.2f %% of %" G_GUINT64_FORMAT " stacks complete",
                                lu_writer_complete_percent (&written), written.unwindable);
  return g_strdup_printf (
      "%" G_GUINT64_FORMAT " samples, %s, %s%" G_GUINT64_FORMAT
      " lost, throttled %" G_GUINT64_FORMAT
      " times; live-unwinder itself was hit by %" G_GUINT64_FORMAT " (%.2f %%), left out%s%s",
      lu_counters_get (counters, LU_COUNTER_TAKEN),
      complete != NULL ? complete : "no user stack to unwind",
      info.has_lost_counter ? "" : "at least ",
      lu_counters_get (&self->source->counters, LU_COUNTER_LOST_SAMPLES),
      lu_counters_get (counters, LU_COUNTER_THROTTLED), own,
      seen > 0 ? 100.0 * (double) own / (double) seen : 0.0, info.trouble != NULL ? "; " : "",
      info.trouble != NULL ? info.trouble : "");
}

LuSource *
lu_drain_source (LuDrain *self)
{
  return self->source;
}
