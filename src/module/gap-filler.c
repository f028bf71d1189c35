/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* gap-filler.c - see gap-filler.h. */

#include "module/gap-filler.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/priority.h"
#include "module/file-rows.h"

#include <malloc.h>
#include <pthread.h>

#define MAX_FILES 8

/* A file that needs rows. */
typedef struct
{
  LuTableSlot *slot; /* reference */
  LuImage *image;    /* reference */
  int fd;            /* owned */
  gboolean is_storable;
} Filling;

struct _LuGapFiller
{
  const gint *is_stopping;
  GThread *thread; /* NULL: not started */

  pthread_mutex_t mutex; /* not a GMutex, because thread sanitizers understand this one */
  pthread_cond_t changed;
  GQueue files;     /* of Filling; the first is the next */
  guint n_storable; /* files that wait or are at work, and whose rows others will find */
  gboolean is_ending;
};

static void
filling_free (gpointer data)
{
  Filling *self = data;

  lu_table_slot_unref (self->slot);
  lu_image_unref (self->image);
  lu_fd_clear (&self->fd);
  g_free (self);
}

static void
fill (const LuGapFiller *self, const Filling *filling)
{
  guint64 begin = lu_thread_cpu_ns ();
  g_autoptr (LuExtraRows) rows = NULL;
  guint8 identity[LU_DIGEST_SIZE];

  if (!lu_file_rows_have_room (filling->image)
      || !lu_image_digest_loaded (filling->image, filling->fd, identity)
      || lu_table_slot_load_filled (filling->slot, filling->image, identity))
    return;
  if (lu_image_hold_cfi (filling->image))
    lu_image_release_cfi (filling->image);
  else if (!lu_image_refill_cfi (filling->image, filling->fd))
    return;
  rows = lu_file_rows_fill_gaps (filling->image, filling->fd, self->is_stopping);
  if (rows != NULL)
    lu_table_slot_take_filled (
        filling->slot, filling->image, rows,
        filling->is_storable && lu_file_rows_may_be_stored (filling->fd) ? identity : NULL);
  g_debug ("%u rows for code without CFI took %" G_GUINT64_FORMAT " us",
           rows != NULL ? rows->rows->len : 0, (lu_thread_cpu_ns () - begin) / 1000);
}

/* Waits for a file. NULL: the thread is to end. */
static Filling *
take_file (LuGapFiller *self)
{
  Filling *filling;

  pthread_mutex_lock (&self->mutex);
  while (self->files.length == 0 && !self->is_ending)
    pthread_cond_wait (&self->changed, &self->mutex);
  filling = self->is_ending ? NULL : g_queue_pop_head (&self->files);
  pthread_mutex_unlock (&self->mutex);
  return filling;
}

static gpointer
filler_main (gpointer data)
{
  LuGapFiller *self = data;
  Filling *filling;

  lu_thread_be_ordinary ();
  while ((filling = take_file (self)) != NULL)
    {
      fill (self, filling);
      pthread_mutex_lock (&self->mutex);
      lu_table_slot_end_filling (filling->slot);
      self->n_storable -= filling->is_storable;
      pthread_cond_broadcast (&self->changed);
      pthread_mutex_unlock (&self->mutex);
      filling_free (filling);
#ifdef __GLIBC__
      malloc_trim (0); /* it took several times the size of the code */
#endif
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

gboolean
lu_gap_filler_has_begun (const LuGapFiller *self)
{
  return self->thread != NULL;
}

void
lu_gap_filler_add (LuGapFiller *self, LuTableSlot *slot, LuImage *image, int fd_taken)
{
  Filling *filling = g_new0 (Filling, 1);

  *filling = (Filling){ lu_table_slot_ref (slot), lu_image_ref (image), fd_taken,
                        lu_file_rows_may_be_stored (fd_taken) };
  pthread_mutex_lock (&self->mutex);
  self->n_storable += filling->is_storable;
  g_queue_push_tail (&self->files, filling);
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->mutex);
  if (self->thread == NULL)
    self->thread = g_thread_new ("rows", filler_main, self);
}

gboolean
lu_gap_filler_wait (LuGapFiller *self, LuTableSlot *slot, guint max_ms)
{
  struct timespec until;
  gboolean is_done;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_nsec += (long) max_ms * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock (&self->mutex);
  while (lu_table_slot_is_filling (slot) && !self->is_ending
         && pthread_cond_timedwait (&self->changed, &self->mutex, &until) == 0)
    ;
  is_done = !lu_table_slot_is_filling (slot) || self->is_ending;
  pthread_mutex_unlock (&self->mutex);
  return is_done;
}

LuGapFiller *
lu_gap_filler_new (const gint *is_stopping)
{
  LuGapFiller *self = g_new0 (LuGapFiller, 1);

  self->is_stopping = is_stopping;
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->changed, NULL);
  g_queue_init (&self->files);
  return self;
}

void
lu_gap_filler_finish (LuGapFiller *self, gint64 end)
{
  gboolean is_done = self->thread == NULL;

  while (!is_done && g_get_monotonic_time () < end)
    {
      pthread_mutex_lock (&self->mutex);
      is_done = self->n_storable == 0;
      pthread_mutex_unlock (&self->mutex);
      if (!is_done)
        g_usleep (1000);
    }
}

void
lu_gap_filler_stop (LuGapFiller *self)
{
  if (self->thread == NULL)
    return;
  pthread_mutex_lock (&self->mutex);
  self->is_ending = TRUE;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->mutex);
  g_thread_join (g_steal_pointer (&self->thread));
  g_queue_clear_full (&self->files, filling_free);
}

void
lu_gap_filler_free (LuGapFiller *self)
{
  pthread_cond_destroy (&self->changed);
  pthread_mutex_destroy (&self->mutex);
  g_free (self);
}
