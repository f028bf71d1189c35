/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* filling.c - see filling.h. */

#include "module/filling.h"

#include "base/clock.h"
#include "base/fd.h"
#include "module/file-rows.h"

/* Addresses that are remembered until the file was read; later ones are asked for again. */
#define MAX_EARLY 64
/* The CFI may be dropped again before it is held. */
#define MAX_REFILLS 3

/* States of units */
enum
{
  OPEN,
  ASKED,
  DONE,
  PUBLISHED,
};

LuFilling *
lu_filling_new (LuTableSlot *slot, LuImage *image, int fd_taken)
{
  LuFilling *self = g_new0 (LuFilling, 1);

  self->slot = lu_table_slot_ref (slot);
  self->image = lu_image_ref (image);
  self->fd = fd_taken;
  self->is_storable = lu_file_rows_may_be_stored (fd_taken);
  self->asked_early = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_queue_init (&self->asked);
  return self;
}

void
lu_filling_free (gpointer data)
{
  LuFilling *self = data;

  if (self->rows != NULL)
    lu_image_release_cfi (self->image);
  lu_code_rows_free (self->rows);
  g_free (self->states);
  g_queue_clear (&self->asked);
  g_array_unref (self->asked_early);
  lu_table_slot_unref (self->slot);
  lu_image_unref (self->image);
  lu_fd_clear (&self->fd);
  g_free (self);
}

/* Keeps an address until the file was read. All samples of a loop ask for the same one. */
static void
ask_early (LuFilling *self, guint64 address)
{
  for (guint i = 0; i < self->asked_early->len; i++)
    if (g_array_index (self->asked_early, guint64, i) == address)
      return;
  if (self->asked_early->len < MAX_EARLY)
    g_array_append_val (self->asked_early, address);
}

gboolean
lu_filling_ask (LuFilling *self, guint64 address)
{
  guint unit;

  if (address == LU_ALL_ROWS)
    {
      gboolean is_news = !self->is_hurried;

      self->is_hurried = TRUE;
      return is_news;
    }
  if (self->rows == NULL)
    {
      ask_early (self, address);
      return FALSE;
    }
  unit = lu_code_rows_find_unit (self->rows, address);
  if (unit >= lu_code_rows_n_units (self->rows) || self->states[unit] == ASKED
      || self->states[unit] == PUBLISHED)
    return FALSE;
  if (self->states[unit] == DONE)
    {
      gboolean is_news = self->n_unpublished == 0;

      self->n_unpublished++;
      return is_news;
    }
  self->states[unit] = ASKED;
  g_queue_push_tail (&self->asked, GUINT_TO_POINTER (unit));
  return TRUE;
}

gboolean
lu_filling_has (const LuFilling *self, guint64 address)
{
  guint unit;

  if (self->rows == NULL || address == LU_ALL_ROWS)
    return FALSE; /* the file is dropped when it is done */
  unit = lu_code_rows_find_unit (self->rows, address);
  return unit >= lu_code_rows_n_units (self->rows) || self->states[unit] == PUBLISHED;
}

guint
lu_filling_take_asked (LuFilling *self)
{
  while (self->asked.length > 0)
    {
      guint unit = GPOINTER_TO_UINT (g_queue_pop_head (&self->asked));

      if (self->states[unit] == ASKED)
        return unit;
    }
  return LU_NO_UNIT;
}

guint
lu_filling_take_next (LuFilling *self)
{
  guint n_units = self->rows != NULL ? lu_code_rows_n_units (self->rows) : 0;

  while (self->next < n_units && self->states[self->next] >= DONE)
    self->next++;
  return self->next < n_units ? self->next : LU_NO_UNIT;
}

/* Publishing takes longer the more rows there are, so at most a quarter of the time is spent on it.
 */
guint64
lu_filling_due (const LuFilling *self)
{
  return self->n_unpublished > 0 ? self->published_at + 3 * self->publish_ns : G_MAXUINT64;
}

/* Publishes the rows of all units that are done. */
static void
publish (LuFilling *self, pthread_mutex_t *mutex)
{
  guint64 began = lu_monotonic_ns ();
  const LuExtraRows *rows = lu_code_rows_collect (self->rows);
  gboolean is_last = self->n_left == 0;

  if (rows != NULL)
    lu_table_slot_take_filled (self->slot, self->image, rows,
                               is_last && self->is_storable && lu_file_rows_may_be_stored (self->fd)
                                   ? self->identity
                                   : NULL,
                               is_last);
  pthread_mutex_lock (mutex);
  for (guint i = 0; i < lu_code_rows_n_units (self->rows); i++)
    if (self->states[i] == DONE)
      self->states[i] = PUBLISHED;
  self->n_unpublished = 0;
  self->published_at = lu_monotonic_ns ();
  self->publish_ns = self->published_at - began;
  self->is_done = is_last;
  pthread_mutex_unlock (mutex);
  if (is_last)
    g_debug ("%u rows for code without CFI took %" G_GUINT64_FORMAT " us",
             rows != NULL ? rows->rows->len : 0, self->cpu_ns / 1000);
}

/* Returns the code that needs rows, with the CFI held, or NULL. */
static LuCodeRows *
read_file (LuFilling *self, const GArray *addresses, const gint *is_cancelled)
{
  LuCodeRows *rows;

  if (!lu_file_rows_may_be_read (self->image, self->fd)
      || !lu_image_digest_loaded (self->image, self->fd, self->identity)
      || lu_table_slot_load_filled (self->slot, self->image, self->identity))
    return NULL;
  for (guint i = 0; !lu_image_hold_cfi (self->image); i++)
    if (i == MAX_REFILLS || !lu_image_refill_cfi (self->image, self->fd))
      return NULL;
  rows = lu_file_rows_read_gaps (self->image, self->fd, addresses, is_cancelled);
  if (rows == NULL)
    lu_image_release_cfi (self->image);
  return rows;
}

void
lu_filling_begin (LuFilling *self, const gint *is_cancelled, pthread_mutex_t *mutex)
{
  guint64 began = lu_thread_cpu_ns ();
  g_autoptr (GArray) addresses = NULL;
  LuCodeRows *rows;
  guint n_units;

  pthread_mutex_lock (mutex);
  addresses = g_array_copy (self->asked_early);
  pthread_mutex_unlock (mutex);
  rows = read_file (self, addresses, is_cancelled);
  n_units = rows != NULL ? lu_code_rows_n_units (rows) : 0;
  pthread_mutex_lock (mutex);
  self->rows = rows;
  self->states = g_new0 (guint8, n_units + 1);
  self->n_left = n_units;
  self->is_done = n_units == 0;
  for (guint i = 0; n_units > 0 && i < self->asked_early->len; i++)
    lu_filling_ask (self, g_array_index (self->asked_early, guint64, i));
  pthread_mutex_unlock (mutex);
  self->cpu_ns = lu_thread_cpu_ns () - began;
  g_debug ("reading %u units of code without CFI took %" G_GUINT64_FORMAT " us", n_units,
           self->cpu_ns / 1000);
}

void
lu_filling_run (LuFilling *self, guint unit, pthread_mutex_t *mutex)
{
  guint64 began = lu_thread_cpu_ns ();
  gboolean is_time;

  if (unit != LU_NO_UNIT && !lu_code_rows_run_unit (self->rows, unit))
    return; /* it was cancelled */
  pthread_mutex_lock (mutex);
  if (unit != LU_NO_UNIT)
    {
      self->n_unpublished += self->states[unit] == ASKED;
      self->states[unit] = DONE;
      self->n_left--;
    }
  is_time = self->n_left == 0 || lu_filling_due (self) <= lu_monotonic_ns ();
  pthread_mutex_unlock (mutex);
  if (is_time)
    publish (self, mutex);
  self->cpu_ns += lu_thread_cpu_ns () - began;
}
