/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rotation.h - one recording in many files: a sink that begins new outputs every so often.
 *
 * Everything goes to the file of its own time, so that no sample is lost or counted twice, and each
 * file is whole in itself. Samples come out of order by up to a second: for that long the last file
 * stays open beside the new one. Then a thread of its own finds its names and ends it, while
 * recording goes on. What bounds that: one file is finished at a time and one may wait for it;
 * while there is no room, the current file grows over its time instead of being followed by a new
 * one.
 *
 * The writer thread's; after it has ended, the main thread's. */

#pragma once

#include "output/sink.h"
#include "tally.h"

typedef struct _LuRotation LuRotation;

/* One period. */
typedef struct
{
  LuSink *sink;
  guint number;       /* from 1 */
  guint64 begin, end; /* ns; end exclusive */
  char **paths;       /* of its files, NULL-terminated */
  LuTally tally;      /* of its samples */
  guint64 n_late;     /* of these, how many are of the period before it, and have its beginning as
                         their time */
} LuPart;

typedef struct
{
  /* Opens files, and a sink that writes to them (not begun). *paths: owned by the caller. */
  LuSink *(*open) (guint number, gint64 wall_clock, char ***paths, gpointer user_data,
                   GError **error);
  /* What is to be known of a period when it is over, as text; owned by the caller. */
  char *(*describe) (const LuPart *part, gpointer user_data);
  /* Called now and then by end(), while files are finished. */
  void (*wait) (gpointer user_data);
} LuRotationFuncs;

/* period: ns, at least a second. keep: finished periods whose files are kept, older ones are
 * removed; 0: all. live: times are those of lu_monotonic_ns(). */
LuRotation *lu_rotation_new (guint64 period, guint keep, gboolean live,
                             const LuRotationFuncs *funcs, gpointer user_data);
/* The rotation as a sink, whose free() frees it. Its begin() opens the first files, its end()
 * finishes the last ones. */
LuSink *lu_rotation_sink (LuRotation *self);
/* After a sample was given to the sink: the counts of the period that took it; NULL: none did. */
LuTally *lu_rotation_tally_at (LuRotation *self, guint64 time);
/* Ends periods that are over; now and then, when nothing is left that was sampled some time ago. */
void lu_rotation_tick (LuRotation *self);
/* Periods with files so far, including those removed. */
guint lu_rotation_n_parts (const LuRotation *self);
