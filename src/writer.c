/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.c - takes finished stacks from the queue and gives them to the sink; see writer.h.
 *
 * After the first failure of the sink everything further is taken from the queue and dropped, so
 * that nobody upstream waits for a full disk. */

#include "writer.h"

#include "messages.h"

#include <errno.h>
#include <unistd.h>

#define FLUSH_INTERVAL_US (200 * 1000)
#define FLUSH_INTERVAL_MS 200

struct _LuWriter
{
  LuSink *sink; /* owned */
  LuQueue *input;
  int failed_fd;
  GThread *thread;
  LuTally tally;
  GError *error; /* the first failure */
  gboolean dirty;
  gint64 last_flush;
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

static void
write_stack (LuWriter *self, const LuStackMessage *message)
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
  LuStackUse use = { .needed = message->stack_needed,
                     .used = message->stack_used,
                     .asked = message->stack_asked };
  GError *error = NULL;

  lu_tally_add (&self->tally, message->status, message->n_kernel, message->n_user, &use,
                end_path (message));
  if (message->live_read && message->status == LU_STATUS_COMPLETE)
    self->tally.live_reads++;
  if (message->n_joined > 0)
    self->tally.joined++;
  if (self->error == NULL)
    note_failure (self, self->sink->ops->sample (self->sink, &sample, &error), error);
  lu_process_unref (message->header.process);
  lu_space_unref (message->header.space);
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
handle (LuWriter *self, const LuMessage *message)
{
  switch (message->kind)
    {
    case LU_MESSAGE_STACK:
      write_stack (self, (const LuStackMessage *) message);
      break;
    case LU_MESSAGE_TASK:
      write_task (self, (const LuTaskMessage *) message);
      break;
    case LU_MESSAGE_LOG:
      write_log (self, (const LuLogMessage *) message);
      break;
    case LU_MESSAGE_OPEN:
    case LU_MESSAGE_PROCESS:
    case LU_MESSAGE_SAMPLE:
      g_assert_not_reached ();
    }
  self->dirty = TRUE;
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

static gpointer
writer_main (gpointer data)
{
  LuWriter *self = data;
  gpointer message;

  while (!lu_queue_is_finished (self->input))
    {
      while ((message = lu_queue_peek (self->input, NULL)) != NULL)
        {
          handle (self, message);
          lu_queue_release (self->input);
        }
      flush_now_and_then (self);
      lu_queue_wait (self->input, self->dirty ? FLUSH_INTERVAL_MS : -1);
    }
  return NULL;
}

LuWriter *
lu_writer_new (LuSink *sink, LuQueue *input, int failed_fd)
{
  LuWriter *self = g_new0 (LuWriter, 1);

  self->sink = sink;
  self->input = input;
  self->failed_fd = failed_fd;
  lu_tally_init (&self->tally);
  return self;
}

gboolean
lu_writer_start (LuWriter *self, const LuRecording *recording, GError **error)
{
  if (!self->sink->ops->begin (self->sink, recording, error)
      || !self->sink->ops->flush (self->sink, error))
    return FALSE;
  self->thread = g_thread_new ("writer", writer_main, self);
  return TRUE;
}

void
lu_writer_join (LuWriter *self)
{
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
}

gboolean
lu_writer_finish (LuWriter *self, guint64 end_time, const char *const *metadata, GError **error)
{
  if (self->error != NULL)
    {
      /* The header may still be given its end; whether that works changes nothing. */
      self->sink->ops->end (self->sink, end_time, NULL);
      g_propagate_error (error, g_steal_pointer (&self->error));
      return FALSE;
    }
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
  lu_sink_free (self->sink);
  lu_tally_clear (&self->tally);
  g_clear_error (&self->error);
  g_free (self);
}
