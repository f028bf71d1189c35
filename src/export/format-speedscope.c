/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-speedscope.c - JSON for speedscope (https://www.speedscope.app/file-format-schema.json):
 * one sampled profile per thread and event, in the order of time, with equal neighbours joined.
 * File and line of a frame are those where its function is defined: speedscope tells frames apart
 * by them. */

#include "format.h"
#include "tracks.h"

static void
write_frames (const LuModel *model, LuStream *stream)
{
  lu_stream_text (stream, "\"shared\":{\"frames\":[");
  for (guint i = 0; i < model->functions->len; i++)
    {
      const LuModelFunction *function = &g_array_index (model->functions, LuModelFunction, i);

      const char *file = function->defined_in != NULL ? function->defined_in : function->module;
      g_autofree char *text = lu_model_function_text (function);

      lu_stream_text (stream, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
      lu_stream_json (stream, text);
      if (file[0] != 0)
        {
          lu_stream_text (stream, ",\"file\":");
          lu_stream_json (stream, file);
        }
      if (function->defined_in != NULL && function->defined_at > 0)
        lu_stream_printf (stream, ",\"line\":%u", function->defined_at);
      lu_stream_text (stream, "}");
    }
  lu_stream_text (stream, "]},\n\"profiles\":[");
}

static gboolean
has_weights (const LuEventInfo *event)
{
  return event->varies || event->weight > 0;
}

static guint64
weight_of (const LuModel *model, const LuModelSample *sample)
{
  return has_weights (lu_model_event (model, sample->event))
             ? lu_model_sample_weight (model, sample)
             : 1;
}

static const LuModelSample *
sample_at (const LuModel *model, const LuTrack *track, guint index)
{
  return &g_array_index (model->samples, LuModelSample,
                         g_array_index (track->samples, guint32, index));
}

/* Writes the stacks of a track, equal ones in a row as one, and collects their weights. */
static void
write_stacks (const LuModel *model, LuStream *stream, const LuTrack *track, GArray *weights)
{
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint32 last = 0;

  for (guint i = 0; i < track->samples->len; i++)
    {
      const LuModelSample *sample = sample_at (model, track, i);
      guint64 weight = weight_of (model, sample);

      if (i > 0 && sample->node == last)
        {
          g_array_index (weights, guint64, weights->len - 1) += weight;
          continue;
        }
      lu_stream_text (stream, i > 0 ? ",[" : "[");
      lu_model_path (model, sample->node, path);
      for (guint k = 0; k < path->len; k++)
        {
          guint32 frame = lu_model_node (model, g_array_index (path, guint32, k)).frame;

          lu_stream_printf (stream, "%s%u", k > 0 ? "," : "",
                            lu_model_frame (model, frame)->function);
        }
      lu_stream_text (stream, "]");
      last = sample->node;
      g_array_append_val (weights, weight);
    }
}

/* speedscope knows a few units; a count has none. */
static const char *
unit_of (const LuModel *model, const LuTrack *track)
{
  const LuEventInfo *event = lu_model_event (model, track->event);

  return has_weights (event) && g_str_equal (event->unit, LU_UNIT_TIME) ? "nanoseconds" : "none";
}

static void
write_track (const LuModel *model, LuStream *stream, const LuTrack *track)
{
  const LuModelThread *thread = lu_model_thread (model, track->thread);
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (guint64));
  const char *program = lu_model_process_of (model, track->thread)->name;
  gboolean has_name = thread->name != program;
  g_autofree char *track_name = lu_track_name (model, track);
  guint64 total = 0;
  g_autofree char *name =
      g_strdup_printf ("%s%s%s (%d/%d)", has_name ? program : "", has_name ? ": " : "", track_name,
                       thread->pid, thread->tid);

  for (guint i = 0; i < track->samples->len; i++)
    total += weight_of (model, sample_at (model, track, i));
  lu_stream_text (stream, "\n{\"type\":\"sampled\",\"name\":");
  lu_stream_json (stream, name);
  lu_stream_printf (stream, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" G_GUINT64_FORMAT,
                    unit_of (model, track), total);
  lu_stream_text (stream, ",\n\"samples\":[");
  write_stacks (model, stream, track, weights);
  lu_stream_text (stream, "],\n\"weights\":[");
  for (guint i = 0; i < weights->len; i++)
    lu_stream_printf (stream, "%s%" G_GUINT64_FORMAT, i > 0 ? "," : "",
                      g_array_index (weights, guint64, i));
  lu_stream_text (stream, "]}");
}

/* Returns the track to show first: the one with most samples. */
static guint
busiest (const GPtrArray *tracks)
{
  guint best = 0;

  for (guint i = 1; i < tracks->len; i++)
    if (((const LuTrack *) g_ptr_array_index (tracks, i))->samples->len
        > ((const LuTrack *) g_ptr_array_index (tracks, best))->samples->len)
      best = i;
  return best;
}

static void
write_speedscope (const LuModel *model, LuStream *stream)
{
  g_autoptr (GPtrArray) tracks = lu_tracks_new (model);

  lu_stream_text (stream, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                          "\"exporter\":\"live-unwinder\",\n");
  lu_stream_printf (stream, "\"activeProfileIndex\":%u,\n", busiest (tracks));
  write_frames (model, stream);
  for (guint i = 0; i < tracks->len; i++)
    {
      lu_stream_text (stream, i > 0 ? "," : "");
      write_track (model, stream, g_ptr_array_index (tracks, i));
    }
  lu_stream_text (stream, "]}\n");
}

const LuFormat lu_format_speedscope = {
  .name = "speedscope",
  .suffixes = { ".speedscope.json", ".speedscope" },
  .needs = LU_MODEL_TIMES,
  .write = write_speedscope,
};
