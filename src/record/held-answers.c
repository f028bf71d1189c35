/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* held-answers.c - see held-answers.h. */

#include "held-answers.h"

struct _LuHeldAnswers
{
  GQueue places;      /* of LuHeldAnswer */
  gsize bytes;        /* of requests and answers */
  GHashTable *by_pid; /* pid -> bytes of its requests; none: 0 */
};

LuHeldAnswers *
lu_held_answers_new (void)
{
  LuHeldAnswers *self = g_new0 (LuHeldAnswers, 1);

  g_queue_init (&self->places);
  self->by_pid = g_hash_table_new (NULL, NULL);
  return self;
}

void
lu_held_answer_free (LuHeldAnswer *held)
{
  g_free (held->request);
  g_free (held->answer);
  g_free (held);
}

void
lu_held_answers_free (LuHeldAnswers *self)
{
  if (self == NULL)
    return;
  g_queue_clear_full (&self->places, (GDestroyNotify) lu_held_answer_free);
  g_hash_table_unref (self->by_pid);
  g_free (self);
}

static gsize
bytes_of (const LuHeldAnswers *self, gint32 pid)
{
  return GPOINTER_TO_SIZE (g_hash_table_lookup (self->by_pid, GINT_TO_POINTER (pid)));
}

static void
set_bytes_of (LuHeldAnswers *self, gint32 pid, gsize bytes)
{
  if (bytes == 0)
    g_hash_table_remove (self->by_pid, GINT_TO_POINTER (pid));
  else
    g_hash_table_insert (self->by_pid, GINT_TO_POINTER (pid), GSIZE_TO_POINTER (bytes));
}

/* Requests without a process cost no memory of one. */
static gint32
pid_of (const LuMessage *request)
{
  if (request->kind == LU_MESSAGE_SAMPLE)
    return ((const LuSampleMessage *) request)->header.pid;
  return request->kind == LU_MESSAGE_VERIFY ? ((const LuStackMessage *) request)->header.pid : 0;
}

gboolean
lu_held_answers_have_room (const LuHeldAnswers *self, const LuMessage *request, gsize size)
{
  return self->bytes + size <= LU_HELD_MAX_BYTES
         && bytes_of (self, pid_of (request)) + size <= LU_HELD_MAX_PROCESS_BYTES;
}

void
lu_held_answers_hold (LuHeldAnswers *self, const LuMessage *request, gsize size,
                      const LuAwaitedRows *rows, guint64 until)
{
  LuHeldAnswer *held = g_new0 (LuHeldAnswer, 1);

  held->pid = pid_of (request);
  held->request = g_memdup2 (request, size);
  held->request_size = size;
  held->rows = *rows;
  held->until = until;
  self->bytes += size;
  set_bytes_of (self, held->pid, bytes_of (self, held->pid) + size);
  g_queue_push_tail (&self->places, held);
}

gpointer
lu_held_answers_append (LuHeldAnswers *self, gsize size)
{
  LuHeldAnswer *held = g_new0 (LuHeldAnswer, 1);

  g_queue_push_tail (&self->places, held);
  return lu_held_answers_settle (self, held, size);
}

gpointer
lu_held_answers_settle (LuHeldAnswers *self, LuHeldAnswer *held, gsize size)
{
  held->answer = g_malloc (size);
  held->answer_size = size;
  self->bytes += size;
  return held->answer;
}

void
lu_held_answers_drop_request (LuHeldAnswers *self, LuHeldAnswer *held)
{
  self->bytes -= held->request_size;
  set_bytes_of (self, held->pid, bytes_of (self, held->pid) - held->request_size);
  held->request_size = 0;
  g_clear_pointer (&held->request, g_free);
}

gboolean
lu_held_answers_is_empty (const LuHeldAnswers *self)
{
  return self->places.length == 0;
}

GList *
lu_held_answers_list (const LuHeldAnswers *self)
{
  return self->places.head;
}

LuHeldAnswer *
lu_held_answers_take (LuHeldAnswers *self)
{
  LuHeldAnswer *held = g_queue_peek_head (&self->places);

  if (held == NULL || held->answer == NULL)
    return NULL;
  self->bytes -= held->answer_size;
  return g_queue_pop_head (&self->places);
}
