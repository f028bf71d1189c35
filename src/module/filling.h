/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* filling.h - one file whose code without CFI is to get rows, unit by unit (gap-filler.h).
 *
 * The thread that makes the rows owns it. Another thread may ask for units, and look which are
 * published, so these functions are called under the filler's mutex. */

#pragma once

#include "code/code-rows.h"
#include "module/tables.h"

typedef struct
{
  LuTableSlot *slot; /* reference */
  LuImage *image;    /* reference; its CFI is held as soon as the file has begun */
  int fd;            /* owned */
  gboolean is_storable;
  guint8 identity[LU_DIGEST_SIZE];
  guint64 cpu_ns; /* that it took */

  /* Under the mutex */
  gboolean is_hurried; /* somebody waits for all of it */
  gboolean has_begun, is_done;
  GArray *asked_early; /* of guint64: addresses, until it has begun */
  LuCodeRows *rows;    /* owned; NULL: it has not begun */
  guint8 *states;      /* of its units */
  GQueue asked;        /* numbers of units, in the order in which they were asked for */
  guint next;          /* all units before it are done */
  guint n_left;        /* units that are not done */
  guint n_unpublished; /* how often units were asked for that are done */
  guint64 published_at, publish_ns; /* when that was done last, and how long it took; monotonic */
} LuFilling;

/* No unit: there is none that may be done now, or what is done is to be published. */
#define LU_NO_UNIT G_MAXUINT

/* Takes references, and the file, open as `fd_taken`. */
LuFilling *lu_filling_new (LuTableSlot *slot, LuImage *image, int fd_taken);
void lu_filling_free (gpointer self);

/* Reads the file; takes a stored table if there is one. Sets is_done if there is nothing to do.
 * is_cancelled: atomic, borrowed; when it is not 0, units are given up. mutex: for what is under
 * it. Call it once, before lu_filling_run(). */
void lu_filling_begin (LuFilling *self, const gint *is_cancelled, pthread_mutex_t *mutex);
/* Makes the rows of a unit, or of LU_NO_UNIT, and publishes what is done when it is time. Sets
 * is_done when everything is published; does nothing if it was cancelled. */
void lu_filling_run (LuFilling *self, guint unit, pthread_mutex_t *mutex);

/* The rest is called under the mutex. */

/* Asks for the unit around an address; LU_ALL_ROWS: for all. Returns FALSE if that is no news. */
gboolean lu_filling_ask (LuFilling *self, guint64 address);
/* Returns whether the rows around an address are published, or there are none. */
gboolean lu_filling_has (const LuFilling *self, guint64 address);
/* Returns the unit that was asked for first, and takes it, or LU_NO_UNIT. */
guint lu_filling_take_asked (LuFilling *self);
/* Returns any unit that is not done, or LU_NO_UNIT. */
guint lu_filling_take_next (LuFilling *self);
/* Returns when units that are done and were asked for are to be published; G_MAXUINT64: never. */
guint64 lu_filling_due (const LuFilling *self);
