/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* join.c - completes cut-off stacks; see join.h.
 *
 * One entry per thread that has deep stacks: the outer frames of its last whole stack, and the
 * cut-off stacks that wait for the next one. Shallow stacks, the usual case, cost one comparison.
 */

#include "join.h"

/* A stack that used less than 1 / DEEP of its copy says nothing about one that did not fit. */
#define DEEP        4
#define MAX_THREADS 256
/* At 1 kHz this is a quarter of a second of nothing but cut-off stacks. */
#define MAX_WAITING 256
#define MAX_WAIT_NS (G_GUINT64_CONSTANT (1000) * 1000 * 1000)

typedef struct
{
  LuJoin *join; /* borrowed */
  guint64 process_id;
  gint32 tid;
  guint64 time;         /* of the newest sample */
  LuStackMessage *last; /* copy of the newest whole stack, without references; NULL: none yet */
  gsize last_room;      /* bytes */
  GQueue waiting;       /* copies of cut-off stacks, oldest first */
} Thread;

struct _LuJoin
{
  LuJoinEmit emit;
  gpointer user_data;
  GHashTable *threads; /* tid -> Thread, owned */
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
  return g_memdup2 (stack, lu_stack_message_size (stack));
}

static gboolean
same_frame (const LuStackMessage *a, guint i, const LuStackMessage *b, guint k)
{
  const LuFrame *left = &user_frames (a)[i], *right = &user_frames (b)[k];

  return left->pc == right->pc && left->flags == right->flags
         && stack_pointer (a, i) == stack_pointer (b, k);
}

/* Returns the index in the whole stack of the outermost frame of the cut-off one; n_user if it is
 * not there. */
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
emit_stack (LuJoin *self, const LuStackMessage *stack)
{
  self->emit (stack, self->user_data);
}

/* Returns the cut-off stack, moved, with the frames of `whole` from index `from` on. */
static LuStackMessage *
complete (LuStackMessage *cut, const LuStackMessage *whole, guint from)
{
  guint n_tail = whole->n_user - from;
  gsize size = lu_stack_message_size (cut);
  LuFrame *tail;

  cut = g_realloc (cut, size + n_tail * sizeof (LuFrame));
  tail = cut->frames + cut->n_kernel + cut->n_user;
  memmove (tail + n_tail, tail, size - (gsize) ((guint8 *) tail - (guint8 *) cut));
  for (guint i = 0; i < n_tail; i++)
    {
      tail[i] = user_frames (whole)[from + i];
      tail[i].flags |= LU_FRAME_INFERRED;
    }
  cut->status = LU_STATUS_COMPLETE;
  cut->end_pc = 0;
  cut->n_user += n_tail;
  cut->n_joined = n_tail;
  return cut;
}

/* Completes a stack that waited if the whole stacks around it agree. May move it. */
static LuStackMessage *
decide (const LuStackMessage *before, const LuStackMessage *after, LuStackMessage *cut)
{
  guint i = find_end (before, cut), k = find_end (after, cut);

  return i < before->n_user && k < after->n_user && agree_from (before, i, after, k)
                 && after->n_user > k + 1
             ? complete (cut, after, k + 1)
             : cut;
}

/* Emits the stacks that wait. after: the whole stack after them; NULL: there is none. */
static void
end_waiting (Thread *thread, const LuStackMessage *after)
{
  LuStackMessage *cut;

  while ((cut = g_queue_pop_head (&thread->waiting)) != NULL)
    {
      if (after != NULL)
        cut = decide (thread->last, after, cut);
      emit_stack (thread->join, cut);
      g_free (cut);
    }
}

static void
thread_free (gpointer pointer)
{
  Thread *thread = pointer;

  end_waiting (thread, NULL);
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
}

/* Returns the entry of the sample's thread, a new one if the pid now belongs to another process. */
static Thread *
thread_of (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = g_hash_table_lookup (self->threads, GINT_TO_POINTER (stack->header.tid));
  guint64 process_id = lu_process_id (stack->header.process);

  if (thread != NULL && thread->process_id != process_id)
    {
      g_hash_table_remove (self->threads, GINT_TO_POINTER (stack->header.tid));
      thread = NULL;
    }
  if (thread == NULL)
    {
      if (g_hash_table_size (self->threads) >= MAX_THREADS)
        drop_longest_unused (self);
      thread = g_new0 (Thread, 1);
      thread->join = self;
      thread->process_id = process_id;
      thread->tid = stack->header.tid;
      g_hash_table_insert (self->threads, GINT_TO_POINTER (thread->tid), thread);
    }
  thread->time = stack->header.time;
  return thread;
}

/* Copies into memory that is there already, because most samples of a deep program come here. */
static void
keep_last (Thread *thread, const LuStackMessage *stack)
{
  gsize size = lu_stack_message_size (stack);

  if (size > thread->last_room)
    {
      thread->last_room = 2 * size;
      thread->last = g_realloc (thread->last, thread->last_room);
    }
  memcpy (thread->last, stack, size);
}

static void
add_whole (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);

  end_waiting (thread, stack);
  keep_last (thread, stack);
  emit_stack (self, stack);
}

static void
add_cut (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);

  if (thread->last == NULL || g_queue_get_length (&thread->waiting) >= MAX_WAITING
      || find_end (thread->last, stack) == thread->last->n_user)
    emit_stack (self, stack);
  else
    g_queue_push_tail (&thread->waiting, copy (stack));
}

LuJoin *
lu_join_new (LuJoinEmit emit, gpointer user_data)
{
  LuJoin *self = g_new0 (LuJoin, 1);

  self->emit = emit;
  self->user_data = user_data;
  self->threads = g_hash_table_new_full (NULL, NULL, NULL, thread_free);
  return self;
}

void
lu_join_free (LuJoin *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->threads);
  g_free (self);
}

void
lu_join_add (LuJoin *self, const LuStackMessage *message)
{
  if (message->header.process == NULL || message->n_user == 0 || message->is_bpf_unwound)
    emit_stack (self, message);
  else if (message->status == LU_STATUS_TRUNCATED_COPY)
    add_cut (self, message);
  else if (message->status == LU_STATUS_COMPLETE && !message->live_read
           && message->stack_used * DEEP >= message->stack_asked)
    add_whole (self, message);
  else
    emit_stack (self, message);
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
      const LuStackMessage *oldest = g_queue_peek_head (&((Thread *) value)->waiting);

      if (oldest != NULL && oldest->header.time + MAX_WAIT_NS < now)
        end_waiting (value, NULL);
    }
}
