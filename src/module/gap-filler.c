/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* gap-filler.c - see gap-filler.h. */

#include "module/gap-filler.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/priority.h"
#include "module/file-rows.h"

#include <malloc.h>

#define MAX_FILES 8

/* A file that needs rows. */
typedef struct
{
  LuTableSlot *slot; /* reference; NULL: the thread ends */
  LuImage *image;    /* reference */
  int fd;            /* owned */
} Filling;

struct _LuGapFiller
{
  const gint *is_stopping;
  GThread *thread;    /* NULL: not started */
  GAsyncQueue *files; /* of Filling */
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

  if (lu_image_hold_cfi (filling->image))
    lu_image_release_cfi (filling->image);
  else if (!lu_image_refill_cfi (filling->image, filling->fd))
    return;
  rows = lu_file_rows_fill_gaps (filling->image, filling->fd, self->is_stopping);
  if (rows != NULL)
    lu_table_slot_take_filled (filling->slot, filling->image, rows);
  g_debug ("%u rows for code without CFI took %" G_GUINT64_FORMAT " us",
           rows != NULL ? rows->rows->len : 0, (lu_thread_cpu_ns () - begin) / 1000);
}

static gpointer
filler_main (gpointer data)
{
  LuGapFiller *self = data;
  Filling *filling;

  lu_thread_be_ordinary ();
  while ((filling = g_async_queue_pop (self->files))->slot != NULL)
    {
      if (!g_atomic_int_get (self->is_stopping))
        fill (self, filling);
      filling_free (filling);
#ifdef __GLIBC__
      malloc_trim (0); /* it took several times the size of the code */
#endif
    }
  filling_free (filling);
  return NULL;
}

gboolean
lu_gap_filler_has_room (const LuGapFiller *self)
{
  return g_async_queue_length (self->files) < MAX_FILES;
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

  *filling = (Filling){ lu_table_slot_ref (slot), lu_image_ref (image), fd_taken };
  g_async_queue_push (self->files, filling);
  if (self->thread == NULL)
    self->thread = g_thread_new ("rows", filler_main, self);
}

LuGapFiller *
lu_gap_filler_new (const gint *is_stopping)
{
  LuGapFiller *self = g_new0 (LuGapFiller, 1);

  self->is_stopping = is_stopping;
  self->files = g_async_queue_new_full (filling_free);
  return self;
}

void
lu_gap_filler_stop (LuGapFiller *self)
{
  Filling *end;

  if (self->thread == NULL)
    return;
  end = g_new0 (Filling, 1);
  end->fd = -1;
  g_async_queue_push (self->files, end);
  g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_gap_filler_free (LuGapFiller *self)
{
  g_async_queue_unref (self->files);
  g_free (self);
}
