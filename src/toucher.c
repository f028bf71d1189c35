/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* toucher.c - see toucher.h. */

#include "toucher.h"

#include "base/priority.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

#define TOUCHES_PER_SECOND 1000

typedef struct
{
  gint32 pid;
  guint64 start, end;
} Range;

struct _LuToucher
{
  atomic_int ref_count;  /* the owner's, and that of the thread */
  GThread *thread;       /* NULL: nothing was to be touched so far */
  pthread_mutex_t mutex; /* of all that follows */
  pthread_cond_t wake;
  gboolean is_busy, is_ending;
  Range range; /* of the thread while it is busy */

  /* the thread's */
  gint64 second; /* n_touches pages were touched in it */
  guint n_touches;
};

static void
toucher_unref (LuToucher *self)
{
  if (atomic_fetch_sub (&self->ref_count, 1) != 1)
    return;
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->wake);
  g_free (self);
}

static void
touch (LuToucher *self, const Range *range)
{
  guint64 page = (guint64) sysconf (_SC_PAGESIZE);
  gint64 second = g_get_monotonic_time () / G_USEC_PER_SEC;

  if (second != self->second)
    self->n_touches = 0;
  self->second = second;
  for (guint64 at = range->start; at < range->end && self->n_touches < TOUCHES_PER_SECOND;
       at = (at / page + 1) * page)
    {
      char byte;
      struct iovec local = { .iov_base = &byte, .iov_len = 1 };
      struct iovec remote = { .iov_base = (void *) (gsize) at, .iov_len = 1 };

      self->n_touches++;
      if (process_vm_readv (range->pid, &local, 1, &remote, 1, 0) != 1)
        break; /* the end of the stack, or not allowed */
    }
}

static gpointer
toucher_main (gpointer data)
{
  LuToucher *self = data;

  lu_thread_be_ordinary ();
  pthread_mutex_lock (&self->mutex);
  while (!self->is_ending)
    {
      Range range = self->range;

      if (!self->is_busy)
        {
          pthread_cond_wait (&self->wake, &self->mutex);
          continue;
        }
      pthread_mutex_unlock (&self->mutex);
      touch (self, &range);
      pthread_mutex_lock (&self->mutex);
      self->is_busy = FALSE;
    }
  pthread_mutex_unlock (&self->mutex);
  toucher_unref (self);
  return NULL;
}

LuToucher *
lu_toucher_new (void)
{
  LuToucher *self = g_new0 (LuToucher, 1);

  atomic_init (&self->ref_count, 1);
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->wake, NULL);
  return self;
}

void
lu_toucher_free (LuToucher *self)
{
  if (self == NULL)
    return;
  pthread_mutex_lock (&self->mutex);
  self->is_ending = TRUE;
  pthread_cond_signal (&self->wake);
  pthread_mutex_unlock (&self->mutex);
  if (self->thread != NULL)
    g_thread_unref (self->thread);
  toucher_unref (self);
}

void
lu_toucher_touch (LuToucher *self, gint32 pid, guint64 start, guint64 end)
{
  if (self->thread == NULL)
    {
      self->thread = g_thread_try_new ("toucher", toucher_main, self, NULL);
      if (self->thread == NULL)
        return;
      atomic_fetch_add (&self->ref_count, 1); /* which it gives back after is_ending only */
    }
  pthread_mutex_lock (&self->mutex);
  if (!self->is_busy)
    {
      self->range = (Range){ .pid = pid, .start = start, .end = end };
      self->is_busy = TRUE;
      pthread_cond_signal (&self->wake);
    }
  pthread_mutex_unlock (&self->mutex);
}
