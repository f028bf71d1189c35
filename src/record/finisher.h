/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* finisher.h - the thread that finishes the files of a rotation: it finds names and ends the sinks,
 * which takes long, while recording goes on. It removes old files, too.
 *
 * One period is finished at a time. The functions are the writer thread's, or the main thread's
 * when that has ended. */

#pragma once

#include "rotation.h"

typedef struct _LuFinisher LuFinisher;

/* keep: finished periods whose files are kept, in these directories (borrowed); 0: all. */
LuFinisher *lu_finisher_new (guint keep, const LuOutputDirectories *directories);
/* After lu_finisher_end(). */
void lu_finisher_free (LuFinisher *self);

/* Returns whether one more period may wait. */
gboolean lu_finisher_has_room (LuFinisher *self);
/* Takes a period. The first one starts the thread. */
void lu_finisher_add (LuFinisher *self, LuPart *part);
/* FALSE: something has failed; the error is the first one. */
gboolean lu_finisher_check (LuFinisher *self, GError **error);
/* Bytes of the files that are finished. */
guint64 lu_finisher_bytes (LuFinisher *self);
/* Waits until all is finished and ends the thread, if it has started. */
void lu_finisher_end (LuFinisher *self);

/* NULL is fine. */
void lu_part_free (LuPart *part);
