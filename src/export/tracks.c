/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracks.c - the samples of a model by thread and event; see tracks.h. */

#include "tracks.h"

static void
track_free (gpointer pointer)
{
  LuTrack *self = pointer;

  g_array_unref (self->samples);
  g_free (self);
}

static LuTrack *
get_track (GPtrArray *tracks, LuIdTable *ids, guint32 thread, guint32 event)
{
  guint32 id = lu_id_table_add (ids, (guint64) thread << 32 | event, 0);

  if (id == tracks->len)
    {
      LuTrack *track = g_new (LuTrack, 1);

      *track = (LuTrack){ thread, event, g_array_new (FALSE, FALSE, sizeof (guint32)) };
      g_ptr_array_add (tracks, track);
    }
  return g_ptr_array_index (tracks, id);
}

GPtrArray *
lu_tracks_new (const LuModel *model)
{
  GPtrArray *tracks = g_ptr_array_new_with_free_func (track_free);
  LuIdTable *ids = lu_id_table_new (1);

  for (guint32 i = 0; i < model->samples->len; i++)
    {
      const LuModelSample *sample = &g_array_index (model->samples, LuModelSample, i);

      g_array_append_val (get_track (tracks, ids, sample->thread, sample->event)->samples, i);
    }
  lu_id_table_free (ids);
  return tracks;
}

char *
lu_track_name (const LuModel *model, const LuTrack *track)
{
  const char *thread = lu_model_thread (model, track->thread)->name;

  return lu_model_n_events (model) == 1
             ? g_strdup (thread)
             : g_strdup_printf ("%s (%s)", thread, lu_model_event (model, track->event)->name);
}
