/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracks.h - the samples of a model by thread and event, for formats with a time line for each. */

#pragma once

#include "profile/model.h"

typedef struct
{
  guint32 thread, event; /* numbers in the model */
  GArray *samples;       /* of guint32: numbers of samples, in the order of time; owned */
} LuTrack;

/* Returns an array of LuTrack, owned by the caller. The model needs LU_MODEL_TIMES. A recording
 * with one event has a track for each thread, one with several events a track for each event that
 * hit the thread. */
GPtrArray *lu_tracks_new (const LuModel *model);

/* Returns the name of the thread, and that of the event if there are several. Owned. */
char *lu_track_name (const LuModel *model, const LuTrack *track);
