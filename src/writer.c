/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.c - takes finished stacks from the queues and gives them to the sink; see writer.h.
 *
 * The worker's answers are waited for at their places, so that all is written in the order of the
 * drain. But files may lie where nobody answers, and the worker then waits for ever. So each is
 * waited for only so long; what comes after it is written first, and it when it comes.
 *
 * After the first failure of the sink everything further is taken from the queue and dropped, so
 * that nobody upstream waits for a full disk. */

#include "writer.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/priority.h"
#include "join.h"
#include "messages.h"
#include "walked-queue.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

/* Less than the interval at which the drain wakes us, so that one wake-up does both. */
#define FLUSH_INTERVAL_MS 40
#define FLUSH_INTERVAL_US (FLUSH_INTERVAL_MS * 1000)
/* A period may be over although nothing comes. */
#define ROTATION_INTERVAL_MS 1000

struct _LuWriter
{
  LuSink *sink;         /* owned */
  LuRotation *rotation; /* the same, if it is one; else NULL */
  LuQueue *from_drain, *from_worker;
  LuJoin *join; /* NULL: cut-off stacks stay so */
  LuWalkedReceiver *receiver;
  int failed_fd;
  GThread *thread;
  LuTally tally;
  GError *error; /* the first failure */
  gboolean dirty;
  gint64 last_flush;
  int patience_ms;         /* for an answer of the worker; -1: no end of it */
  guint64 n_late;          /* answers whose places have passed */
  atomic_bool is_given_up; /* what has not been answered never will be */

  atomic_ullong walked, complete, truncated, window;
  atomic_uint stack_size;
};

static void
note_failure (LuWriter *self, gboolean ok, GError *error)
{
  guint64 one = 1;

  if (ok)
    return;
  self->error = error;
  if (write (self->failed_fd, &one, sizeof one) < 0)
    g_debug ("eventfd: %s", g_strerror (errno));
}

static const char *
end_path (const LuStackMessage *message)
{
  const LuMapping *mapping;

  if (message->status == LU_STATUS_COMPLETE || message->header.space == NULL
      || message->end_pc == 0)
    return NULL;
  mapping = lu_space_find (message->header.space, message->end_pc);
  return mapping != NULL ? lu_module_path (mapping->module) : NULL;
}

/* Before stacks are completed from others: that is for the numbers that people see. */
static void
count (LuWriter *self, const LuStackMessage *message)
{
  if (lu_status_is_excluded (message->status))
    return;
  lu_counter_bump (&self->walked);
  if (message->status == LU_STATUS_COMPLETE && !message->live_read)
    lu_counter_bump (&self->complete);
}

/* An answer of the worker; the drain counts by itself what it finished. */
static void
count_in_window (LuWriter *self, const LuStackMessage *message)
{
  if (lu_status_is_excluded (message->status)
      || !lu_stack_copy_is_of_size (message->stack_asked,
                                    atomic_load_explicit (&self->stack_size, memory_order_relaxed)))
    return;
  atomic_fetch_add_explicit (&self->window, 1, memory_order_relaxed);
  if (message->status == LU_STATUS_TRUNCATED_COPY)
    atomic_fetch_add_explicit (&self->truncated, 1, memory_order_relaxed);
}

static void
add_to_tally (LuTally *tally, const LuStackMessage *message)
{
  LuStackUse use = { .needed = message->stack_needed,
                     .used = message->stack_used,
                     .asked = message->stack_asked };

  lu_tally_add (tally, message->status, message->n_kernel, message->n_user, &use,
                end_path (message));
  if (!message->has_no_guesses)
    lu_tally_add_guesses (tally, message->status, message->frames + message->n_kernel,
                          message->n_user - message->n_joined);
  if (message->live_read && message->status == LU_STATUS_COMPLETE)
    tally->live_reads++;
  if (message->n_joined > 0)
    tally->joined++;
}

static void
write_borrowed (LuWriter *self, const LuStackMessage *message)
{
  LuSinkSample sample = { .time = message->header.time,
                          .period = message->header.period,
                          .cpu = message->header.cpu,
                          .pid = message->header.pid,
                          .tid = message->header.tid,
                          .status = message->status,
                          .n_kernel = message->n_kernel,
                          .n_user = message->n_user,
                          .kernel = message->frames,
                          .user = message->frames + message->n_kernel,
                          .process = message->header.process,
                          .space = message->header.space };
  LuTally *of_period;
  GError *error = NULL;

  add_to_tally (&self->tally, message);
  if (self->error == NULL)
    note_failure (self, self->sink->ops->sample (self->sink, &sample, &error), error);
  of_period = self->rotation != NULL ? lu_rotation_tally_at (self->rotation, sample.time) : NULL;
  if (of_period != NULL)
    add_to_tally (of_period, message);
}

/* The message's references end here. */
static void
write_stack (const LuStackMessage *message, gpointer user_data)
{
  write_borrowed (user_data, message);
  lu_process_unref (message->header.process);
  lu_space_unref (message->header.space);
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
handle_walked (LuWriter *self, const LuWalkedMessage *message)
{
  const LuStackMessage *whole = lu_walked_receive (self->receiver, message);

  count (self, whole);
  write_borrowed (self, whole);
  if (self->join != NULL)
    lu_join_expire (self->join, message->time);
}

static void
write_task (LuWriter *self, const LuTaskMessage *message)
{
  const LuSinkOps *ops = self->sink->ops;
  GError *error = NULL;
  gboolean ok;

  if (self->error != NULL)
    return;
  if (message->is_exit)
    ok = ops->exit (self->sink, message->time, message->pid, &error);
  else
    ok = ops->fork (self->sink, message->time, message->pid, message->child_pid, &error);
  note_failure (self, ok, error);
}

static void
write_log (LuWriter *self, const LuLogMessage *message)
{
  GError *error = NULL;

  if (self->error == NULL)
    note_failure (self, self->sink->ops->log (self->sink, message->time, message->text, &error),
                  error);
}

static void
flush_now_and_then (LuWriter *self)
{
  gint64 now = g_get_monotonic_time ();
  GError *error = NULL;

  if (!self->dirty || now - self->last_flush < FLUSH_INTERVAL_US)
    return;
  self->dirty = FALSE;
  self->last_flush = now;
  if (self->error == NULL)
    note_failure (self, self->sink->ops->flush (self->sink, &error), error);
}

/* How long to sleep while waiting until `end` (0: without end). */
static int
answer_wait_ms (const LuWriter *self, gint64 end)
{
  int wait_ms = self->dirty ? FLUSH_INTERVAL_MS : G_MAXINT;

  if (end != 0)
    wait_ms = (int) CLAMP ((end - g_get_monotonic_time ()) / 1000 + 1, 0, wait_ms);
  return wait_ms != G_MAXINT ? wait_ms : -1;
}

/* FALSE: there is no answer, and none within so many ms (-1: ever). */
static gboolean
wait_for_answer (LuWriter *self, int patience_ms)
{
  gint64 end = 0;

  if (patience_ms >= 0)
    end = g_get_monotonic_time () + patience_ms * G_GINT64_CONSTANT (1000);
  while (lu_queue_peek (self->from_worker, NULL) == NULL)
    {
      if (lu_queue_is_finished (self->from_worker) || atomic_load (&self->is_given_up)
          || (end != 0 && g_get_monotonic_time () >= end))
        return FALSE;
      flush_now_and_then (self);
      lu_queue_wait (self->from_worker, answer_wait_ms (self, end));
    }
  return TRUE;
}

static void
take_answer (LuWriter *self)
{
  const LuMessage *message = lu_queue_peek (self->from_worker, NULL);

  if (message->kind == LU_MESSAGE_STACK)
    {
      count_in_window (self, (const LuStackMessage *) message);
      handle_stack (self, (const LuStackMessage *) message);
    }
  lu_queue_release (self->from_worker);
  self->dirty = TRUE;
}

/* As many as have come; at the end it is for others to say how long to wait for more. */
static void
take_late_answers (LuWriter *self, gboolean is_end)
{
  for (; self->n_late > 0 && wait_for_answer (self, is_end ? -1 : 0); self->n_late--)
    take_answer (self);
}

/* The worker's answer to what the drain sent it instead of the message that is handled now. Who has
 * let one wait so long is not waited for again before that has come. */
static void
handle_answer (LuWriter *self)
{
  take_late_answers (self, FALSE);
  if (self->n_late == 0 && wait_for_answer (self, self->patience_ms))
    take_answer (self);
  else
    self->n_late++;
}

static void
handle (LuWriter *self, const LuMessage *message)
{
  switch (message->kind)
    {
    case LU_MESSAGE_STACK:
      handle_stack (self, (const LuStackMessage *) message);
      break;
    case LU_MESSAGE_WALKED:
      handle_walked (self, (const LuWalkedMessage *) message);
      break;
    case LU_MESSAGE_DEFERRED:
      handle_answer (self);
      break;
    case LU_MESSAGE_TASK:
      write_task (self, (const LuTaskMessage *) message);
      break;
    case LU_MESSAGE_LOG:
      write_log (self, (const LuLogMessage *) message);
      break;
    default:
      g_assert_not_reached ();
    }
  self->dirty = TRUE;
}

static void
tell_given_up (LuWriter *self)
{
  GError *error = NULL;
  char text[128];

  if (self->n_late == 0 || self->error != NULL)
    return;
  g_snprintf (text, sizeof text,
              "%" G_GUINT64_FORMAT
              " samples and files were given up: where they lie nobody answers",
              self->n_late);
  note_failure (self, self->sink->ops->log (self->sink, lu_monotonic_ns (), text, &error), error);
}

static int
wait_ms (const LuWriter *self)
{
  if (self->dirty)
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
      flush_now_and_then (self);
      if (self->rotation != NULL && !self->dirty)
        lu_rotation_tick (self->rotation);
      lu_queue_wait (self->from_drain, wait_ms (self));
    }
  take_late_answers (self, TRUE);
  tell_given_up (self);
  g_clear_pointer (&self->join, lu_join_free);
  return NULL;
}

LuWriter *
lu_writer_new (LuSink *sink, LuQueue *from_drain, LuQueue *from_worker, gboolean join,
               int failed_fd)
{
  LuWriter *self = g_new0 (LuWriter, 1);

  self->sink = sink;
  self->from_drain = from_drain;
  self->from_worker = from_worker;
  self->failed_fd = failed_fd;
  self->patience_ms = -1;
  self->join = join ? lu_join_new (write_stack, self) : NULL;
  self->receiver = lu_walked_receiver_new ();
  lu_tally_init (&self->tally);
  return self;
}

void
lu_writer_set_rotation (LuWriter *self, LuRotation *rotation)
{
  self->rotation = rotation;
}

void
lu_writer_set_patience (LuWriter *self, int patience_ms)
{
  self->patience_ms = patience_ms;
}

void
lu_writer_give_up_answers (LuWriter *self)
{
  atomic_store (&self->is_given_up, true);
  lu_queue_poke (self->from_worker);
}

gboolean
lu_writer_begin (LuWriter *self, const LuRecording *recording, GError **error)
{
  return self->sink->ops->begin (self->sink, recording, error)
         && self->sink->ops->flush (self->sink, error);
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
      /* The header may still be given its end; whether that works changes nothing. */
      self->sink->ops->end (self->sink, end_time, NULL);
      g_propagate_error (error, g_steal_pointer (&self->error));
      return FALSE;
    }
  if (last_line != NULL && !self->sink->ops->log (self->sink, end_time, last_line, error))
    return FALSE;
  for (guint i = 0; metadata[i] != NULL; i += 2)
    if (!self->sink->ops->metadata (self->sink, metadata[i], metadata[i + 1], error))
      return FALSE;
  return self->sink->ops->end (self->sink, end_time, error);
}

const LuTally *
lu_writer_tally (const LuWriter *self)
{
  return &self->tally;
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
  lu_walked_receiver_free (self->receiver);
  lu_sink_free (self->sink);
  lu_tally_clear (&self->tally);
  g_clear_error (&self->error);
  g_free (self);
}

void
lu_writer_reset_window (LuWriter *self, guint32 stack_size)
{
  atomic_store (&self->stack_size, stack_size);
  atomic_store (&self->truncated, 0);
  atomic_store (&self->window, 0);
}

void
lu_writer_get_progress (LuWriter *self, LuWriterProgress *progress)
{
  progress->walked = atomic_load_explicit (&self->walked, memory_order_relaxed);
  progress->complete = atomic_load_explicit (&self->complete, memory_order_relaxed);
  progress->truncated = atomic_load_explicit (&self->truncated, memory_order_relaxed);
  progress->window = atomic_load_explicit (&self->window, memory_order_relaxed);
}
