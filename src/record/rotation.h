/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rotation.h - one recording in many files: a sink that begins new outputs every so often.
 *
 * Every event goes to the file of its own time, so that no sample is lost or counted twice, and
 * each file is complete. Samples come out of order by up to a second; for that long the previous
 * file stays open beside the current one. Then a thread of its own finishes it (finisher.h) while
 * recording goes on. One file is finished at a time and one may wait; while there is no room, the
 * current file grows beyond its period.
 *
 * Writer thread; the thread that ends the recording when that has ended. */

#pragma once

#include "capture/output-file.h"
#include "capture/sink.h"
#include "statistics.h"

typedef struct _LuRotation LuRotation;

/* One period. */
typedef struct
{
  LuSink *sink;
  guint number;            /* from 1 */
  guint64 begin, end;      /* ns; end exclusive */
  char **paths;            /* of its files, NULL-terminated */
  LuStatistics statistics; /* its samples */
  guint64 n_late; /* samples of the period before it, which have its beginning as their time */
} LuPart;

typedef struct
{
  /* Opens files, and a sink that writes to them (not begun). *paths: owned by the caller. */
  LuSink *(*open) (guint number, gint64 wall_clock, char ***paths, gpointer user_data,
                   GError **error);
  /* Returns a description of a period that is over, as text; owned by the caller. */
  char *(*describe) (const LuPart *part, gpointer user_data);
  /* The directories of the files, in the order of their paths; borrowed. NULL if all files are
   * kept. */
  const LuOutputDirectories *directories;
} LuRotationFuncs;

/* period: ns, at least a second. keep: finished periods whose files are kept, older ones are
 * removed; 0: all. live: times are those of lu_monotonic_ns(). */
LuRotation *lu_rotation_new (guint64 period, guint keep, gboolean live,
                             const LuRotationFuncs *funcs, gpointer user_data);
/* Returns the rotation as a sink, whose free() frees it. Its begin() opens the first files, its
 * end() finishes the last ones. */
LuSink *lu_rotation_sink (LuRotation *self);
/* Returns the counts of the period that took the last sample, of this time; NULL: none did. */
LuStatistics *lu_rotation_statistics_at (LuRotation *self, guint64 time);
/* Ends periods that are over. Call it now and then, when all older samples have been written. */
void lu_rotation_tick (LuRotation *self);
/* Returns how many periods have had files so far, including removed ones. */
guint lu_rotation_n_parts (const LuRotation *self);
