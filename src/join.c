/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* join.c - completes cut-off stacks; see join.h.
 *
 * One entry per thread that has deep stacks: the outer frames of its last whole stack, and the
 * cut-off stacks that wait for the next one. Shallow stacks, the usual case, cost one comparison.
 */

#include "join.h"

#include <string.h>

/* A stack that used less than 1 / DEEP of its copy tells nothing about one that did not fit. */
#define DEEP        4
#define MAX_THREADS 256
/* At 1 kHz this is a quarter of a second of nothing but cut-off stacks. */
#define MAX_WAITING 256
#define MAX_WAIT_NS (G_GUINT64_CONSTANT (1000) * 1000 * 1000)

typedef struct
{
  guint64 process_id;
  gint32 tid;
  guint64 time;         /* of the newest sample */
  LuStackMessage *last; /* the newest whole stack, without references; NULL before the first */
  GQueue waiting;       /* of LuStackMessage, oldest first */
} Thread;

struct _LuJoin
{
  LuJoinEmit emit;
  gpointer user_data;
  GHashTable *threads; /* tid -> Thread */
  guint64 next_expiry;
};

static const LuFrame *
user_frames (const LuStackMessage *stack)
{
  return stack->frames + stack->n_kernel;
}

static guint64
stack_pointer (const LuStackMessage *stack, guint i)
{
  return stack->sampled_sp + user_frames (stack)[i].stack_offset;
}

static LuStackMessage *
copy (const LuStackMessage *stack)
{
  return g_memdup2 (stack, sizeof *stack + (stack->n_kernel + stack->n_user) * sizeof (LuFrame));
}

static gboolean
same_frame (const LuStackMessage *a, guint i, const LuStackMessage *b, guint k)
{
  const LuFrame *left = &user_frames (a)[i], *right = &user_frames (b)[k];

  return left->pc == right->pc && left->flags == right->flags
         && stack_pointer (a, i) == stack_pointer (b, k);
}

/* Where in the whole stack the frame is that the other one ends with; n_user if it is not there. */
static guint
find_end (const LuStackMessage *whole, const LuStackMessage *cut)
{
  guint i = 0;

  while (i < whole->n_user && !same_frame (whole, i, cut, cut->n_user - 1))
    i++;
  return i;
}

static gboolean
agree_from (const LuStackMessage *a, guint i, const LuStackMessage *b, guint k)
{
  if (a->n_user - i != b->n_user - k)
    return FALSE;
  for (; i < a->n_user; i++, k++)
    if (!same_frame (a, i, b, k))
      return FALSE;
  return TRUE;
}

static void
emit_plain (LuJoin *self, const LuStackMessage *stack)
{
  self->emit (stack, NULL, 0, self->user_data);
}

/* Decides on a stack that waited: `before` and `after` are the whole stacks around it. */
static void
decide (LuJoin *self, const LuStackMessage *before, const LuStackMessage *after,
        const LuStackMessage *cut)
{
  guint i = find_end (before, cut), k = find_end (after, cut);

  if (i < before->n_user && k < after->n_user && agree_from (before, i, after, k))
    self->emit (cut, user_frames (after) + k + 1, after->n_user - k - 1, self->user_data);
  else
    emit_plain (self, cut);
}

static void
give_up_waiting (LuJoin *self, Thread *thread)
{
  LuStackMessage *cut;

  while ((cut = g_queue_pop_head (&thread->waiting)) != NULL)
    {
      emit_plain (self, cut);
      g_free (cut);
    }
}

static void
thread_free (LuJoin *self, Thread *thread)
{
  give_up_waiting (self, thread);
  g_free (thread->last);
  g_free (thread);
}

static void
drop_longest_unused (LuJoin *self)
{
  GHashTableIter iter;
  gpointer value;
  Thread *oldest = NULL;

  g_hash_table_iter_init (&iter, self->threads);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (oldest == NULL || ((Thread *) value)->time < oldest->time)
      oldest = value;
  g_hash_table_remove (self->threads, GINT_TO_POINTER (oldest->tid));
  thread_free (self, oldest);
}

/* The entry of the sample's thread; another incarnation of the process starts it anew. */
static Thread *
thread_of (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = g_hash_table_lookup (self->threads, GINT_TO_POINTER (stack->header.tid));
  guint64 process_id = lu_process_id (stack->header.process);

  if (thread != NULL && thread->process_id != process_id)
    {
      g_hash_table_remove (self->threads, GINT_TO_POINTER (stack->header.tid));
      thread_free (self, thread);
      thread = NULL;
    }
  if (thread == NULL)
    {
      if (g_hash_table_size (self->threads) >= MAX_THREADS)
        drop_longest_unused (self);
      thread = g_new0 (Thread, 1);
      thread->process_id = process_id;
      thread->tid = stack->header.tid;
      g_hash_table_insert (self->threads, GINT_TO_POINTER (thread->tid), thread);
    }
  thread->time = stack->header.time;
  return thread;
}

static void
add_whole (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);
  LuStackMessage *cut;

  while ((cut = g_queue_pop_head (&thread->waiting)) != NULL)
    {
      decide (self, thread->last, stack, cut);
      g_free (cut);
    }
  g_free (thread->last);
  thread->last = copy (stack);
  emit_plain (self, stack);
}

static void
add_cut (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);

  if (thread->last == NULL || thread->waiting.length >= MAX_WAITING
      || find_end (thread->last, stack) == thread->last->n_user)
    emit_plain (self, stack);
  else
    g_queue_push_tail (&thread->waiting, copy (stack));
}

LuJoin *
lu_join_new (LuJoinEmit emit, gpointer user_data)
{
  LuJoin *self = g_new0 (LuJoin, 1);

  self->emit = emit;
  self->user_data = user_data;
  self->threads = g_hash_table_new (NULL, NULL);
  return self;
}

void
lu_join_free (LuJoin *self)
{
  GHashTableIter iter;
  gpointer value;

  if (self == NULL)
    return;
  g_hash_table_iter_init (&iter, self->threads);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    thread_free (self, value);
  g_hash_table_unref (self->threads);
  g_free (self);
}

void
lu_join_add (LuJoin *self, const LuStackMessage *message)
{
  if (message->header.process == NULL || message->n_user == 0)
    emit_plain (self, message);
  else if (message->status == LU_STATUS_TRUNCATED_COPY)
    add_cut (self, message);
  else if (message->status == LU_STATUS_COMPLETE && !message->live_read
           && message->stack_used * DEEP >= message->stack_asked)
    add_whole (self, message);
  else
    emit_plain (self, message);
}

void
lu_join_expire (LuJoin *self, guint64 now)
{
  GHashTableIter iter;
  gpointer value;

  if (now < self->next_expiry)
    return;
  self->next_expiry = now + MAX_WAIT_NS;
  g_hash_table_iter_init (&iter, self->threads);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Thread *thread = value;
      const LuStackMessage *oldest = g_queue_peek_head (&thread->waiting);

      if (oldest != NULL && oldest->header.time + MAX_WAIT_NS < now)
        give_up_waiting (self, thread);
    }
}
