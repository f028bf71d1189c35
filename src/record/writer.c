/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.c - takes finished stacks from the queues and gives them to the sink; see writer.h.
 *
 * The writer waits for each answer of the worker at its place, so everything is written in the
 * order of the drain. But the worker may take long for many files, or wait for ever for a file
 * system that does not answer, so the writer's patience is limited: it goes on, and writes late
 * answers when they come.
 *
 * After the first failure of the sink the writer takes and drops all messages, so that nobody
 * upstream waits for a full disk. */

#include "writer.h"

#include "base/clock.h"
#include "base/priority.h"
#include "interp-stacks.h"
#include "join.h"

#include <math.h>
#include <stdbool.h>
#include <sys/eventfd.h>

/* Less than the interval at which the drain wakes us, so that one wake-up does both. */
#define FLUSH_INTERVAL_MS 40
#define FLUSH_INTERVAL_US (FLUSH_INTERVAL_MS * 1000)
/* How often to look whether a period is over while no messages come. */
#define ROTATION_INTERVAL_MS 1000

struct _LuWriter
{
  LuSink *sink;         /* owned; NULL before begin */
  LuRotation *rotation; /* the sink, if it is one; else NULL */
  LuQueue *from_drain, *from_worker;
  LuJoin *join; /* NULL: cut-off stacks are not completed */
  LuInterpStacks *interp_stacks;
  int failed_fd;
  GThread *thread;
  LuStatistics statistics;
  GError *error; /* the first failure */
  gboolean dirty;
  gboolean ticks; /* flush once a second, also if nothing comes: the sink counts something */
  gint64 last_flush;
  int patience_ms;  /* with answers of the worker; -1: no limit */
  gint64 waited_us; /* for answers, since nothing else was left to write */
  guint64 n_late;   /* answers that have not come at their places */

  LuCopySize *copy_size; /* borrowed; NULL: nobody asks */
  atomic_ullong unwindable, complete;
};

/* ok: what the sink returned, which has set self->error if it failed. */
static void
note_failure (LuWriter *self, gboolean ok)
{
  if (!ok)
    eventfd_write (self->failed_fd, 1);
}

/* A plain addition: only the writer's thread changes it. */
static void
bump (atomic_ullong *counter)
{
  atomic_store_explicit (counter, atomic_load_explicit (counter, memory_order_relaxed) + 1,
                         memory_order_relaxed);
}

/* Counts stacks as they were unwound, before lu_join_add() completes some: people see these
 * numbers. */
static void
count (LuWriter *self, const LuStackMessage *message)
{
  if (lu_status_is_excluded (message->status))
    return;
  bump (&self->unwindable);
  if (message->status == LU_STATUS_COMPLETE && !message->live_read)
    bump (&self->complete);
}

/* Writes a stack and drops the message's references. */
static void
write_stack (const LuStackMessage *message, gpointer user_data)
{
  LuWriter *self = user_data;
  LuSinkSample sample = { .time = message->header.time,
                          .weight = message->header.weight,
                          .event = message->header.event,
                          .cpu = message->header.cpu,
                          .pid = message->header.pid,
                          .tid = message->header.tid,
                          .status = message->status,
                          .n_kernel = message->n_kernel,
                          .n_user = message->n_user,
                          .kernel = message->frames,
                          .user = message->frames + message->n_kernel,
                          .thread_name = message->header.thread_name,
                          .process = message->header.process,
                          .space = message->header.space };
  LuStatistics *of_period;

  if (sample.thread_name[0] == 0 && sample.process != NULL)
    sample.thread_name = lu_process_old_thread_name (sample.process, sample.tid);
  lu_statistics_add (&self->statistics, message);
  lu_interp_stacks_merge (self->interp_stacks, message, &sample, &self->statistics.counters);
  if (self->error == NULL)
    note_failure (self, self->sink->ops->sample (self->sink, &sample, &self->error));
  of_period =
      self->rotation != NULL ? lu_rotation_statistics_at (self->rotation, sample.time) : NULL;
  if (of_period != NULL)
    lu_statistics_add (of_period, message);
  lu_process_unref (message->header.process);
  lu_address_space_unref (message->header.space);
}

static void
handle_stack (LuWriter *self, const LuStackMessage *message)
{
  count (self, message);
  if (self->join == NULL)
    {
      write_stack (message, self);
      return;
    }
  lu_join_add (self->join, message);
  lu_join_expire (self->join, message->header.time);
}

static void
write_task (LuWriter *self, const LuTaskMessage *message)
{
  const LuSinkOps *ops = self->sink->ops;

  if (message->is_exit)
    lu_interp_stacks_end (self->interp_stacks, message->pid);
  if (self->error != NULL)
    return;
  note_failure (self, message->is_exit
                          ? ops->exit (self->sink, message->time, message->pid, &self->error)
                          : ops->fork (self->sink, message->time, message->pid, message->child_pid,
                                       &self->error));
}

static void
write_log (LuWriter *self, guint64 time, const char *text)
{
  if (self->error == NULL)
    note_failure (self, self->sink->ops->log (self->sink, time, text, &self->error));
}

static void
flush_now_and_then (LuWriter *self)
{
  gint64 now = g_get_monotonic_time ();

  if (!(self->dirty || self->ticks) || now - self->last_flush < FLUSH_INTERVAL_US)
    return;
  self->dirty = FALSE;
  self->last_flush = now;
  if (self->error == NULL)
    note_failure (self, self->sink->ops->flush (self->sink, &self->error));
}

/* Returns how long to sleep, in ms, while waiting until `end` (us, monotonic; 0: no limit). */
static int
answer_wait_ms (const LuWriter *self, gint64 end)
{
  int wait_ms = self->dirty || self->ticks ? FLUSH_INTERVAL_MS : G_MAXINT;

  if (end != 0)
    wait_ms = (int) CLAMP ((end - g_get_monotonic_time ()) / 1000 + 1, 0, wait_ms);
  return wait_ms != G_MAXINT ? wait_ms : -1;
}

/* FALSE: no answer comes within patience_us (-1: no limit). */
static gboolean
wait_for_answer (LuWriter *self, gint64 patience_us)
{
  gint64 end = patience_us >= 0 ? g_get_monotonic_time () + patience_us : 0;

  while (lu_queue_peek (self->from_worker, NULL) == NULL)
    {
      if (lu_queue_is_finished (self->from_worker) || (end != 0 && g_get_monotonic_time () >= end))
        return FALSE;
      flush_now_and_then (self);
      lu_queue_wait (self->from_worker, answer_wait_ms (self, end));
    }
  return TRUE;
}

/* The drain has counted the stacks that it finished. */
static void
take_answer (LuWriter *self)
{
  const LuStackMessage *message = lu_queue_peek (self->from_worker, NULL);

  if (message->kind == LU_MESSAGE_STACK)
    {
      lu_copy_size_count (self->copy_size, message->status, message->stack_asked,
                          message->stack_needed);
      handle_stack (self, message);
    }
  lu_queue_release (self->from_worker);
  self->dirty = TRUE;
}

/* Takes the late answers that have come, at the end also those that will. */
static void
take_late_answers (LuWriter *self, gboolean is_end)
{
  for (; self->n_late > 0 && wait_for_answer (self, is_end ? -1 : 0); self->n_late--)
    take_answer (self);
}

/* Takes the worker's answer whose place has come. While an earlier answer is late, the writer does
 * not wait for this one. */
static void
handle_answer (LuWriter *self)
{
  gint64 begin, patience_us = -1;

  take_late_answers (self, FALSE);
  if (self->n_late > 0)
    {
      self->n_late++;
      return;
    }
  begin = g_get_monotonic_time ();
  if (self->patience_ms >= 0)
    patience_us = MAX (self->patience_ms * G_GINT64_CONSTANT (1000) - self->waited_us, 0);
  if (wait_for_answer (self, patience_us))
    take_answer (self);
  else
    self->n_late++;
  self->waited_us += g_get_monotonic_time () - begin;
}

static void
handle (LuWriter *self, const LuMessage *message)
{
  switch (message->kind)
    {
    case LU_MESSAGE_STACK:
      handle_stack (self, (const LuStackMessage *) message);
      break;
    case LU_MESSAGE_DEFERRED:
      handle_answer (self);
      break;
    case LU_MESSAGE_TASK:
      write_task (self, (const LuTaskMessage *) message);
      break;
    case LU_MESSAGE_INTERP_FUNCTION:
      lu_interp_stacks_learn (self->interp_stacks, (const LuInterpFunctionMessage *) message);
      break;
    case LU_MESSAGE_LOG:
      write_log (self, ((const LuLogMessage *) message)->time,
                 ((const LuLogMessage *) message)->text);
      break;
    default:
      g_assert_not_reached ();
    }
  self->dirty = TRUE;
}

static int
wait_ms (const LuWriter *self)
{
  if (self->dirty || self->ticks)
    return FLUSH_INTERVAL_MS;
  return self->rotation != NULL ? ROTATION_INTERVAL_MS : -1;
}

static gpointer
writer_main (gpointer data)
{
  LuWriter *self = data;
  gpointer message;

  lu_thread_be_ordinary ();
  while (!lu_queue_is_finished (self->from_drain))
    {
      while ((message = lu_queue_peek (self->from_drain, NULL)) != NULL)
        {
          handle (self, message);
          lu_queue_release (self->from_drain);
        }
      take_late_answers (self, FALSE);
      if (self->n_late == 0)
        self->waited_us = 0;
      flush_now_and_then (self);
      if (self->rotation != NULL && !self->dirty)
        lu_rotation_tick (self->rotation);
      lu_queue_wait (self->from_drain, wait_ms (self));
    }
  take_late_answers (self, TRUE);
  g_clear_pointer (&self->join, lu_join_free);
  return NULL;
}

LuWriter *
lu_writer_new (LuQueue *from_drain, LuQueue *from_worker, LuCopySize *copy_size, gboolean join,
               int failed_fd)
{
  LuWriter *self = g_new0 (LuWriter, 1);

  self->from_drain = from_drain;
  self->from_worker = from_worker;
  self->copy_size = copy_size;
  self->failed_fd = failed_fd;
  self->patience_ms = -1;
  self->join = join ? lu_join_new (write_stack, self) : NULL;
  self->interp_stacks = lu_interp_stacks_new (FALSE);
  lu_statistics_init (&self->statistics);
  return self;
}

void
lu_writer_keep_native_frames (LuWriter *self)
{
  lu_interp_stacks_free (self->interp_stacks);
  self->interp_stacks = lu_interp_stacks_new (TRUE);
}

void
lu_writer_set_patience (LuWriter *self, int patience_ms)
{
  self->patience_ms = patience_ms;
}

gboolean
lu_writer_begin (LuWriter *self, LuSink *sink, LuRotation *rotation, const LuRecording *recording,
                 GError **error)
{
  self->sink = sink;
  self->rotation = rotation;
  self->ticks = recording->counters && recording->live;
  return sink->ops->begin (sink, recording, error) && sink->ops->flush (sink, error);
}

void
lu_writer_start (LuWriter *self)
{
  self->thread = g_thread_new ("writer", writer_main, self);
}

void
lu_writer_join (LuWriter *self)
{
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
}

gboolean
lu_writer_finish (LuWriter *self, guint64 end_time, const char *last_line,
                  const char *const *metadata, GError **error)
{
  if (self->error != NULL)
    {
      /* This may still complete the header; whether it works makes no difference. */
      self->sink->ops->end (self->sink, end_time, NULL);
      g_propagate_error (error, g_steal_pointer (&self->error));
      return FALSE;
    }
  if (!self->sink->ops->flush (self->sink, error))
    return FALSE;
  if (last_line != NULL && !self->sink->ops->log (self->sink, end_time, last_line, error))
    return FALSE;
  for (guint i = 0; metadata[i] != NULL; i += 2)
    if (!self->sink->ops->metadata (self->sink, metadata[i], metadata[i + 1], error))
      return FALSE;
  return self->sink->ops->end (self->sink, end_time, error);
}

const LuStatistics *
lu_writer_statistics (const LuWriter *self)
{
  return &self->statistics;
}

guint64
lu_writer_bytes_written (const LuWriter *self)
{
  return self->sink->ops->bytes_written (self->sink);
}

void
lu_writer_free (LuWriter *self)
{
  if (self == NULL)
    return;
  lu_writer_join (self);
  g_clear_pointer (&self->join, lu_join_free);
  lu_interp_stacks_free (self->interp_stacks);
  lu_sink_free (self->sink);
  lu_statistics_clear (&self->statistics);
  g_clear_error (&self->error);
  g_free (self);
}

void
lu_writer_get_progress (LuWriter *self, LuWriterProgress *progress)
{
  progress->unwindable = atomic_load_explicit (&self->unwindable, memory_order_relaxed);
  progress->complete = atomic_load_explicit (&self->complete, memory_order_relaxed);
}

double
lu_writer_complete_percent (const LuWriterProgress *progress)
{
  return progress->unwindable > 0
             ? 100.0 * (double) progress->complete / (double) progress->unwindable
             : NAN;
}
