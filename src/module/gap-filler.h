/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* gap-filler.h - the thread that makes rows for code without CFI in files that have CFI.
 *
 * Samples wait for these rows, so unlike the thread that compiles whole files it has the normal
 * priority. It starts with the first such file. */

#pragma once

#include "module/tables.h"

typedef struct _LuGapFiller LuGapFiller;

/* is_stopping: atomic, borrowed; when it is not 0, the current file is given up. */
LuGapFiller *lu_gap_filler_new (const gint *is_stopping);
/* Waits until all files are done whose rows can be stored, but not beyond a time
 * (g_get_monotonic_time()). */
void lu_gap_filler_finish (LuGapFiller *self, gint64 end);
/* Ends the thread when it is done with the current file; drops the files that
 * wait. */
void lu_gap_filler_stop (LuGapFiller *self);
void lu_gap_filler_free (LuGapFiller *self); /* after lu_gap_filler_stop() */

/* Returns whether another file may be added; each is open until its rows are made. Any thread. */
gboolean lu_gap_filler_has_room (LuGapFiller *self);
/* Adds a file, open as `fd_taken`. Worker thread. */
void lu_gap_filler_add (LuGapFiller *self, LuTableSlot *slot, LuImage *image, int fd_taken);
/* Waits until the file of the slot is done, but no longer than `max_ms`, and not if the thread is
 * to end. Returns FALSE if more waiting may help. Worker thread. */
gboolean lu_gap_filler_wait (LuGapFiller *self, LuTableSlot *slot, guint max_ms);
/* Returns whether the thread was ever started and not stopped yet. */
gboolean lu_gap_filler_has_begun (const LuGapFiller *self);
