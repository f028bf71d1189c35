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

/* A copy of a stack. */
typedef struct _Held Held;
struct _Held
{
  Held *next;
  guint capacity; /* frames there is room for */
  LuStackMessage *message;
};

typedef struct
{
  guint64 process_id;
  gint32 tid;
  guint64 time;        /* of the newest sample */
  Held *last;          /* the newest whole stack, without references; NULL before the first */
  Held *first, **next; /* cut-off stacks, oldest first; where the next one is put */
  guint n_waiting;
} Thread;

struct _LuJoin
{
  LuJoinEmit emit;
  gpointer user_data;
  GHashTable *threads; /* tid -> Thread */
  Held *unused;
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

static void
make_room (Held *held, guint n_frames)
{
  if (held->capacity >= n_frames)
    return;
  held->capacity = n_frames * 2;
  held->message =
      g_realloc (held->message, sizeof *held->message + held->capacity * sizeof (LuFrame));
}

static void
set_copy (Held *held, const LuStackMessage *stack)
{
  make_room (held, stack->n_kernel + stack->n_user);
  memcpy (held->message, stack, lu_stack_message_size (stack));
}

static Held *
take_unused (LuJoin *self)
{
  Held *held = self->unused;

  if (held == NULL)
    return g_new0 (Held, 1);
  self->unused = held->next;
  held->next = NULL;
  return held;
}

static void
give_back (LuJoin *self, Held *held)
{
  held->next = self->unused;
  self->unused = held;
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
hand_on (LuJoin *self, const LuStackMessage *stack)
{
  self->emit (stack, self->user_data);
}

/* The frames of `whole` from `from` on belong behind those of the cut-off stack. */
static void
complete (Held *cut, const LuStackMessage *whole, guint from)
{
  guint n_tail = whole->n_user - from;
  guint n_frames = cut->message->n_kernel + cut->message->n_user;
  LuStackMessage *message;

  make_room (cut, n_frames + n_tail);
  message = cut->message;
  for (guint i = 0; i < n_tail; i++)
    {
      message->frames[n_frames + i] = user_frames (whole)[from + i];
      message->frames[n_frames + i].flags |= LU_FRAME_GUESSED;
    }
  message->status = LU_STATUS_COMPLETE;
  message->end_pc = 0;
  message->n_user += n_tail;
  message->n_joined = n_tail;
}

/* Decides on a stack that waited: `before` and `after` are the whole stacks around it. */
static void
decide (const LuStackMessage *before, const LuStackMessage *after, Held *cut)
{
  guint i = find_end (before, cut->message), k = find_end (after, cut->message);

  if (i < before->n_user && k < after->n_user && agree_from (before, i, after, k)
      && after->n_user > k + 1)
    complete (cut, after, k + 1);
}

/* Hands on what waits, decided if there is a whole stack after it. */
static void
end_waiting (LuJoin *self, Thread *thread, const LuStackMessage *after)
{
  while (thread->first != NULL)
    {
      Held *cut = thread->first;

      thread->first = cut->next;
      if (after != NULL)
        decide (thread->last->message, after, cut);
      hand_on (self, cut->message);
      give_back (self, cut);
    }
  thread->next = &thread->first;
  thread->n_waiting = 0;
}

static void
thread_free (LuJoin *self, Thread *thread)
{
  end_waiting (self, thread, NULL);
  if (thread->last != NULL)
    give_back (self, thread->last);
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
      thread->next = &thread->first;
      g_hash_table_insert (self->threads, GINT_TO_POINTER (thread->tid), thread);
    }
  thread->time = stack->header.time;
  return thread;
}

static void
add_whole (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);

  end_waiting (self, thread, stack);
  if (thread->last == NULL)
    thread->last = take_unused (self);
  set_copy (thread->last, stack);
  hand_on (self, stack);
}

static void
add_cut (LuJoin *self, const LuStackMessage *stack)
{
  Thread *thread = thread_of (self, stack);
  Held *held;

  if (thread->last == NULL || thread->n_waiting >= MAX_WAITING
      || find_end (thread->last->message, stack) == thread->last->message->n_user)
    {
      hand_on (self, stack);
      return;
    }
  held = take_unused (self);
  set_copy (held, stack);
  *thread->next = held;
  thread->next = &held->next;
  thread->n_waiting++;
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
  while (self->unused != NULL)
    {
      Held *held = self->unused;

      self->unused = held->next;
      g_free (held->message);
      g_free (held);
    }
  g_free (self);
}

void
lu_join_add (LuJoin *self, const LuStackMessage *message)
{
  if (message->header.process == NULL || message->n_user == 0 || message->in_kernel)
    hand_on (self, message);
  else if (message->status == LU_STATUS_TRUNCATED_COPY)
    add_cut (self, message);
  else if (message->status == LU_STATUS_COMPLETE && !message->live_read
           && message->stack_used * DEEP >= message->stack_asked)
    add_whole (self, message);
  else
    hand_on (self, message);
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

      if (thread->first != NULL && thread->first->message->header.time + MAX_WAIT_NS < now)
        end_waiting (self, thread, NULL);
    }
}
