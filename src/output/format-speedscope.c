/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-speedscope.c - JSON for speedscope (https://www.speedscope.app/file-format-schema.json):
 * one sampled profile per thread, in the order of time, equal neighbours joined. File and line of a
 * frame are those where its function is defined: speedscope tells frames apart by them. */

#include "output/format.h"

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

/* Of one thread: numbers of samples, those of equal stacks in a row are one. */
static void
write_stacks (const LuModel *model, LuStream *stream, const GArray *samples, GArray *weights)
{
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint32 last = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      guint32 node =
          g_array_index (model->samples, LuModelSample, g_array_index (samples, guint32, i)).node;

      if (i > 0 && node == last)
        {
          g_array_index (weights, guint64, weights->len - 1)++;
          continue;
        }
      lu_stream_text (stream, i > 0 ? ",[" : "[");
      lu_model_path (model, node, path);
      for (guint k = 0; k < path->len; k++)
        {
          guint32 frame = lu_model_node (model, g_array_index (path, guint32, k)).frame;

          lu_stream_printf (stream, "%s%u", k > 0 ? "," : "",
                            lu_model_frame (model, frame)->function);
        }
      lu_stream_text (stream, "]");
      last = node;
      g_array_append_val (weights, (guint64){ 1 });
    }
}

static void
write_thread (const LuModel *model, LuStream *stream, guint32 number, const GArray *samples)
{
  const LuModelThread *thread = lu_model_thread (model, number);
  const LuModelProcess *process = lu_model_process_of (model, number);
  guint64 period = lu_model_period (model);
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree char *name = g_strdup_printf ("%s (%d/%d)", process->name, thread->pid, thread->tid);

  lu_stream_text (stream, "\n{\"type\":\"sampled\",\"name\":");
  lu_stream_json (stream, name);
  lu_stream_printf (stream, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" G_GUINT64_FORMAT,
                    period > 0 ? "nanoseconds" : "none", samples->len * MAX (period, 1));
  lu_stream_text (stream, ",\n\"samples\":[");
  write_stacks (model, stream, samples, weights);
  lu_stream_text (stream, "],\n\"weights\":[");
  for (guint i = 0; i < weights->len; i++)
    lu_stream_printf (stream, "%s%" G_GUINT64_FORMAT, i > 0 ? "," : "",
                      g_array_index (weights, guint64, i) * MAX (period, 1));
  lu_stream_text (stream, "]}");
}

/* The thread to show first: that with most samples. */
static guint
busiest (const GPtrArray *of_thread)
{
  guint best = 0;

  for (guint i = 1; i < of_thread->len; i++)
    if (((const GArray *) g_ptr_array_index (of_thread, i))->len
        > ((const GArray *) g_ptr_array_index (of_thread, best))->len)
      best = i;
  return best;
}

static void
write_speedscope (const LuModel *model, LuStream *stream)
{
  g_autoptr (GPtrArray) of_thread = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 0; i < model->threads->len; i++)
    g_ptr_array_add (of_thread, g_array_new (FALSE, FALSE, sizeof (guint32)));
  for (guint32 i = 0; i < model->samples->len; i++)
    g_array_append_val (
        g_ptr_array_index (of_thread, g_array_index (model->samples, LuModelSample, i).thread), i);
  lu_stream_text (stream, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                          "\"exporter\":\"live-unwinder\",\n");
  lu_stream_printf (stream, "\"activeProfileIndex\":%u,\n", busiest (of_thread));
  write_frames (model, stream);
  for (guint i = 0; i < model->threads->len; i++)
    {
      lu_stream_text (stream, i > 0 ? "," : "");
      write_thread (model, stream, i, g_ptr_array_index (of_thread, i));
    }
  lu_stream_text (stream, "]}\n");
}

const LuFormat lu_format_speedscope = {
  .name = "speedscope",
  .suffixes = { ".speedscope.json", ".speedscope" },
  .needs = LU_MODEL_TIMES,
  .write = write_speedscope,
};
