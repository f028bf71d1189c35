/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* gap-filler.h - the thread that makes rows for code without CFI in files that have CFI.
 *
 * Samples wait for these rows, so the code around their addresses comes first, a unit of
 * LU_CODE_UNIT bytes at a time, and the table with the rows so far is published at once. The thread
 * keeps the priority of the worker, which would otherwise do this itself; the rest of the code it
 * makes with pauses. It starts with the first such file. */

#pragma once

#include "module/tables.h"

typedef struct _LuGapFiller LuGapFiller;

/* is_stopping: atomic, borrowed; when it is not 0, the current file is given up. */
LuGapFiller *lu_gap_filler_new (const gint *is_stopping);
/* Waits until all files are done whose rows can be stored, without pauses, but not beyond a time
 * (g_get_monotonic_time()). */
void lu_gap_filler_finish (LuGapFiller *self, gint64 end);
/* Ends the thread when it is done with the current unit; drops all files, and those that are added
 * later. */
void lu_gap_filler_stop (LuGapFiller *self);
void lu_gap_filler_free (LuGapFiller *self); /* after lu_gap_filler_stop() */

/* Returns whether another file may be added; each is open until its rows are made. Any thread. */
gboolean lu_gap_filler_has_room (LuGapFiller *self);
/* Adds a file, open as `fd_taken`. Worker thread. */
void lu_gap_filler_add (LuGapFiller *self, LuTableSlot *slot, LuImage *image, int fd_taken);
/* Asks for the rows of the slot's file around an ELF address, before others, and waits until they
 * are published, or it is known that there are none, but no longer than `max_ms`, and not if the
 * thread is to end. LU_ALL_ROWS: for the whole file. Returns FALSE if more waiting may help. Worker
 * thread. */
gboolean lu_gap_filler_wait (LuGapFiller *self, LuTableSlot *slot, guint64 address, guint max_ms);
