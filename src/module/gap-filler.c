/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* gap-filler.c - see gap-filler.h. */

#include "module/gap-filler.h"

#include "base/clock.h"
#include "module/file-rows.h"
#include "module/filling.h"

#include <malloc.h>
#include <pthread.h>

#define MAX_FILES 8
/* All files that have begun may hold this much code, together. */
#define MAX_HELD (2 * (guint64) LU_CODE_MAX_BYTES)

struct _LuGapFiller
{
  const gint *is_stopping;

  pthread_mutex_t mutex;  /* not a GMutex, because thread sanitizers understand this one */
  pthread_cond_t changed; /* with the monotonic clock */
  GQueue files;           /* of LuFilling; the first is the next */
  guint n_storable;       /* files that wait or are at work, and whose rows others will find */
  guint64 rest_until;     /* monotonic: no unit is made before that for which nobody waits */
  gboolean is_finishing, is_ending;
  GThread *thread; /* NULL: not started */
};

/* The next thing that the thread does. */
typedef struct
{
  LuFilling *filling;
  guint unit;
  gboolean is_awaited;
} Job;

static LuFilling *
find_filling (LuGapFiller *self, const LuTableSlot *slot)
{
  for (GList *link = self->files.head; link != NULL; link = link->next)
    if (((LuFilling *) link->data)->slot == slot)
      return link->data;
  return NULL;
}

/* Returns how much of a file is in memory, at most. */
static guint64
held_bytes (const LuFilling *filling)
{
  return MIN (lu_file_rows_bytes (filling->image), LU_CODE_MAX_BYTES);
}

/* Finds a unit that somebody waits for, or a file that has not begun. Files take turns. */
static gboolean
find_awaited (LuGapFiller *self, Job *job)
{
  guint64 held = 0;

  for (GList *link = self->files.head; link != NULL; link = link->next)
    {
      job->filling = link->data;
      job->unit = lu_filling_take_asked (job->filling);
      if (job->unit != LU_NO_UNIT || lu_filling_due (job->filling) <= lu_monotonic_ns ())
        {
          g_queue_unlink (&self->files, link);
          g_queue_push_tail_link (&self->files, link);
          return TRUE;
        }
      held += job->filling->has_begun ? held_bytes (job->filling) : 0;
    }
  for (GList *link = self->files.head; link != NULL; link = link->next)
    {
      job->filling = link->data;
      if (!job->filling->has_begun && (held == 0 || held + held_bytes (job->filling) <= MAX_HELD))
        return TRUE;
    }
  return FALSE;
}

/* Finds a unit that nobody waits for. */
static gboolean
find_next (LuGapFiller *self, Job *job)
{
  gboolean may_rest = !self->is_finishing && lu_monotonic_ns () < self->rest_until;

  for (GList *link = self->files.head; link != NULL; link = link->next)
    {
      job->filling = link->data;
      if (may_rest && !job->filling->is_hurried)
        continue;
      job->unit = lu_filling_take_next (job->filling);
      if (job->unit != LU_NO_UNIT)
        return TRUE;
    }
  return FALSE;
}

/* Returns when there is more to do, if nobody asks for anything. */
static guint64
next_time (const LuGapFiller *self)
{
  guint64 time = self->rest_until;

  for (GList *link = self->files.head; link != NULL; link = link->next)
    time = MIN (time, lu_filling_due (link->data));
  return time;
}

static int
wait_until (LuGapFiller *self, guint64 time)
{
  const struct timespec until = { .tv_sec = (time_t) (time / 1000000000),
                                  .tv_nsec = (long) (time % 1000000000) };

  return pthread_cond_timedwait (&self->changed, &self->mutex, &until);
}

/* Waits for something to do. FALSE: the thread is to end. */
static gboolean
take_job (LuGapFiller *self, Job *job)
{
  gboolean is_found = FALSE;

  pthread_mutex_lock (&self->mutex);
  while (!self->is_ending && !g_atomic_int_get (self->is_stopping))
    {
      job->is_awaited = find_awaited (self, job);
      is_found = job->is_awaited || find_next (self, job);
      if (is_found)
        {
          job->filling->has_begun = TRUE;
          break;
        }
      if (self->files.length > 0)
        wait_until (self, next_time (self));
      else
        pthread_cond_wait (&self->changed, &self->mutex);
    }
  pthread_mutex_unlock (&self->mutex);
  return is_found;
}

/* Lets those go on who wait, and drops the file if it is done. */
static void
end_job (LuGapFiller *self, LuFilling *filling)
{
  gboolean is_done;

  pthread_mutex_lock (&self->mutex);
  is_done = filling->is_done;
  if (is_done)
    {
      lu_table_slot_end_filling (filling->slot);
      self->n_storable -= filling->is_storable;
      g_queue_remove (&self->files, filling);
    }
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->mutex);
  if (!is_done)
    return;
  lu_filling_free (filling);
#ifdef __GLIBC__
  malloc_trim (0); /* it took several times the size of the code */
#endif
}

static gpointer
filler_main (gpointer data)
{
  LuGapFiller *self = data;
  Job job;

  while (take_job (self, &job))
    {
      guint64 began = lu_thread_cpu_ns ();

      if (job.filling->states == NULL)
        lu_filling_begin (job.filling, self->is_stopping, &self->mutex);
      else
        lu_filling_run (job.filling, job.unit, &self->mutex);
      /* As long as it has worked, it leaves the CPU to others. */
      if (!job.is_awaited)
        self->rest_until = lu_monotonic_ns () + (lu_thread_cpu_ns () - began);
      end_job (self, job.filling);
    }
  return NULL;
}

gboolean
lu_gap_filler_has_room (LuGapFiller *self)
{
  gboolean has_room;

  pthread_mutex_lock (&self->mutex);
  has_room = self->files.length < MAX_FILES;
  pthread_mutex_unlock (&self->mutex);
  return has_room;
}

void
lu_gap_filler_add (LuGapFiller *self, LuTableSlot *slot, LuImage *image, int fd_taken)
{
  LuFilling *filling = lu_filling_new (slot, image, fd_taken);

  pthread_mutex_lock (&self->mutex);
  if (!self->is_ending)
    {
      self->n_storable += filling->is_storable;
      g_queue_push_tail (&self->files, g_steal_pointer (&filling));
      pthread_cond_broadcast (&self->changed);
      if (self->thread == NULL)
        self->thread = g_thread_new ("rows", filler_main, self);
    }
  pthread_mutex_unlock (&self->mutex);
  g_clear_pointer (&filling, lu_filling_free);
}

gboolean
lu_gap_filler_wait (LuGapFiller *self, LuTableSlot *slot, guint64 address, guint max_ms)
{
  guint64 end = lu_monotonic_ns () + max_ms * G_GUINT64_CONSTANT (1000000);
  LuFilling *filling;
  gboolean is_done;

  pthread_mutex_lock (&self->mutex);
  filling = find_filling (self, slot);
  if (filling != NULL && lu_filling_ask (filling, address))
    pthread_cond_broadcast (&self->changed);
  do
    {
      filling = find_filling (self, slot); /* it is dropped when it is done */
      is_done = filling == NULL || lu_filling_has (filling, address) || self->is_ending;
    }
  while (!is_done && wait_until (self, end) == 0);
  pthread_mutex_unlock (&self->mutex);
  return is_done;
}

LuGapFiller *
lu_gap_filler_new (const gint *is_stopping)
{
  LuGapFiller *self = g_new0 (LuGapFiller, 1);
  pthread_condattr_t attributes;

  self->is_stopping = is_stopping;
  pthread_mutex_init (&self->mutex, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&self->changed, &attributes);
  pthread_condattr_destroy (&attributes);
  g_queue_init (&self->files);
  return self;
}

void
lu_gap_filler_finish (LuGapFiller *self, gint64 end)
{
  pthread_mutex_lock (&self->mutex);
  self->is_finishing = TRUE;
  pthread_cond_broadcast (&self->changed);
  while (self->n_storable > 0 && wait_until (self, (guint64) end * 1000) == 0)
    ;
  pthread_mutex_unlock (&self->mutex);
}

void
lu_gap_filler_stop (LuGapFiller *self)
{
  GThread *thread;
  GQueue files;

  pthread_mutex_lock (&self->mutex);
  self->is_ending = TRUE;
  pthread_cond_broadcast (&self->changed);
  thread = g_steal_pointer (&self->thread);
  pthread_mutex_unlock (&self->mutex);
  if (thread == NULL)
    return;
  g_thread_join (thread);
  /* A worker that was left behind may still ask for rows. */
  pthread_mutex_lock (&self->mutex);
  files = self->files;
  g_queue_init (&self->files);
  pthread_mutex_unlock (&self->mutex);
  g_queue_clear_full (&files, lu_filling_free);
}

void
lu_gap_filler_free (LuGapFiller *self)
{
  pthread_cond_destroy (&self->changed);
  pthread_mutex_destroy (&self->mutex);
  g_free (self);
}
