/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-firefox.c - JSON for the Firefox Profiler (https://profiler.firefox.com): its own format
 * of version 24, which its importer upgrades.
 *
 * Tables per thread: stacks are (prefix, frame) with the prefix in front, frames are a line of a
 * function, which is a string.
 * Times are milliseconds since the start. Categories give kernel, user and generated code their
 * colours. */

#include "output/format.h"

#include <string.h>

static const struct
{
  const char *name, *color;
} categories[] = {
  [LU_CODE_USER] = { "User", "yellow" },     [LU_CODE_KERNEL] = { "Kernel", "orange" },
  [LU_CODE_GENERATED] = { "JIT", "purple" }, [LU_CODE_NOWHERE] = { "Unknown", "grey" },
  [LU_CODE_STATE] = { "Incomplete", "red" },
};

/* Numbers in one thread's tables, by numbers in the model's. */
typedef struct
{
  const LuModel *model;
  LuStream *stream;
  GArray *stacks;    /* of guint32: nodes of the model, parents first */
  guint32 *stack_of; /* node -> number + 1 */
  GArray *frames;    /* of guint32: sites */
  guint32 *frame_of; /* site -> number + 1 */
  LuIdTable *sites;  /* (function, line), of the whole model */
  guint32 *site_of;  /* frame of the model -> site */
} Tables;

static guint32
function_of_site (const Tables *self, guint32 site)
{
  return (guint32) (*lu_id_table_key (self->sites, site) >> 32);
}

static void
find_sites (Tables *self)
{
  const LuModel *model = self->model;

  self->sites = lu_id_table_new (1);
  self->site_of = g_new0 (guint32, model->frames->len + (gsize) 1);
  for (guint32 i = 0; i < model->frames->len; i++)
    {
      const LuModelFrame *frame = lu_model_frame (model, i);

      self->site_of[i] =
          lu_id_table_add (self->sites, (guint64) frame->function << 32 | frame->line, 0);
    }
}

static void
write_head (const LuModel *model, LuStream *stream)
{
  guint64 period = lu_model_period (model);
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (model->capture_time, NULL);
  g_autofree char *start = g_strdup_printf (
      "%" G_GINT64_FORMAT, date != NULL ? g_date_time_to_unix (date) * 1000 : (gint64) 0);
  char interval[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (interval, sizeof interval, "%.6f", period > 0 ? (double) period / 1e6 : 1.0);
  lu_stream_printf (stream,
                    "{\"meta\":{\"version\":24,\"startTime\":%s,\"shutdownTime\":null,"
                    "\"interval\":%s,\"stackwalk\":1,\"debug\":0,\"gcpoison\":0,"
                    "\"asyncstack\":0,\"processType\":0,\"presymbolicated\":true,"
                    "\"product\":\"live-unwinder\",\"categories\":[",
                    start, interval);
  for (guint i = 0; i < G_N_ELEMENTS (categories); i++)
    lu_stream_printf (stream, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
                      i > 0 ? "," : "", categories[i].name, categories[i].color);
  lu_stream_text (stream, "],\"markerSchema\":[]},\"libs\":[],\"pages\":[],\"counters\":[],"
                          "\"pausedRanges\":[],\"processes\":[],\"threads\":[");
}

static guint32
get_stack (Tables *self, guint32 node)
{
  LuModelNode content;
  guint32 site;

  if (node == 0)
    return 0;
  if (self->stack_of[node] != 0)
    return self->stack_of[node];
  content = lu_model_node (self->model, node);
  get_stack (self, content.parent);
  site = self->site_of[content.frame];
  if (self->frame_of[site] == 0)
    {
      g_array_append_val (self->frames, site);
      self->frame_of[site] = self->frames->len;
    }
  g_array_append_val (self->stacks, node);
  return self->stack_of[node] = self->stacks->len;
}

static void
write_milliseconds (const LuModel *model, LuStream *stream, gint64 time)
{
  gint64 since = MAX (time - model->time, 0);

  lu_stream_printf (stream, "%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, since / 1000000,
                    since % 1000000);
}

static void
write_samples (Tables *self, const GArray *samples)
{
  lu_stream_text (self->stream,
                  "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"eventDelay\":2},\"data\":[");
  for (guint i = 0; i < samples->len; i++)
    {
      const LuModelSample *sample =
          &g_array_index (self->model->samples, LuModelSample, g_array_index (samples, guint32, i));
      guint32 stack = get_stack (self, sample->node);

      if (stack > 0)
        lu_stream_printf (self->stream, "%s[%u,", i > 0 ? "," : "", stack - 1);
      else
        lu_stream_printf (self->stream, "%s[null,", i > 0 ? "," : "");
      write_milliseconds (self->model, self->stream, sample->time);
      lu_stream_text (self->stream, ",0]");
    }
  lu_stream_text (self->stream, "]},\n");
}

static void
write_tables (Tables *self)
{
  LuStream *stream = self->stream;

  lu_stream_text (stream, "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[");
  for (guint i = 0; i < self->stacks->len; i++)
    {
      LuModelNode node = lu_model_node (self->model, g_array_index (self->stacks, guint32, i));
      guint32 frame = self->frame_of[self->site_of[node.frame]] - 1;

      if (node.parent == 0)
        lu_stream_printf (stream, "%s[null,%u]", i > 0 ? "," : "", frame);
      else
        lu_stream_printf (stream, "%s[%u,%u]", i > 0 ? "," : "", self->stack_of[node.parent] - 1,
                          frame);
    }
  lu_stream_text (stream, "]},\n\"frameTable\":{\"schema\":{\"location\":0,\"relevantForJS\":1,"
                          "\"innerWindowID\":2,\"implementation\":3,\"line\":4,\"column\":5,"
                          "\"category\":6,\"subcategory\":7},\"data\":[");
  for (guint i = 0; i < self->frames->len; i++)
    {
      guint32 site = g_array_index (self->frames, guint32, i);
      guint32 function = function_of_site (self, site);
      guint32 line = (guint32) *lu_id_table_key (self->sites, site);
      g_autofree char *text = line > 0 ? g_strdup_printf ("%u", line) : g_strdup ("null");

      lu_stream_printf (stream, "%s[%u,false,0,null,%s,null,%d,0]", i > 0 ? "," : "", i, text,
                        g_array_index (self->model->functions, LuModelFunction, function).kind);
    }
  lu_stream_text (stream, "]},\n\"stringTable\":[");
  for (guint i = 0; i < self->frames->len; i++)
    {
      guint32 number = function_of_site (self, g_array_index (self->frames, guint32, i));
      const LuModelFunction *function =
          &g_array_index (self->model->functions, LuModelFunction, number);
      g_autofree char *name = lu_model_function_text (function);
      g_autofree char *text = function->module[0] != 0
                                  ? g_strdup_printf ("%s (in %s)", name, function->module)
                                  : g_strdup (name);

      lu_stream_text (stream, i > 0 ? ",\n" : "");
      lu_stream_json (stream, text);
    }
  lu_stream_text (stream, "]}");
}

/* For the next thread. */
static void
clear_tables (Tables *self)
{
  for (guint i = 0; i < self->stacks->len; i++)
    self->stack_of[g_array_index (self->stacks, guint32, i)] = 0;
  for (guint i = 0; i < self->frames->len; i++)
    self->frame_of[g_array_index (self->frames, guint32, i)] = 0;
  g_array_set_size (self->stacks, 0);
  g_array_set_size (self->frames, 0);
}

static void
write_thread (Tables *tables, guint32 number, const GArray *samples)
{
  const LuModel *model = tables->model;
  LuStream *stream = tables->stream;
  const LuModelThread *thread = lu_model_thread (model, number);
  const LuModelProcess *process = lu_model_process_of (model, number);

  lu_stream_text (stream, "\n{\"name\":");
  /* the importer takes the thread of this name for the process's own */
  lu_stream_json (stream, thread->pid == thread->tid ? "GeckoMain" : process->name);
  lu_stream_text (stream, ",\"processName\":");
  lu_stream_json (stream, process->name);
  lu_stream_printf (stream, ",\"processType\":\"default\",\"pid\":%d,\"tid\":%d,\"registerTime\":",
                    thread->pid, thread->tid);
  write_milliseconds (model, stream, thread->begin);
  lu_stream_text (stream, ",\"unregisterTime\":");
  if (process->end > 0)
    write_milliseconds (model, stream, process->end);
  else
    lu_stream_text (stream, "null");
  lu_stream_text (stream, ",\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,"
                          "\"phase\":3,\"category\":4,\"data\":5},\"data\":[]},\n");
  write_samples (tables, samples);
  write_tables (tables);
  clear_tables (tables);
}

static void
write_firefox (const LuModel *model, LuStream *stream)
{
  g_autoptr (GPtrArray) of_thread = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  Tables tables = { .model = model, .stream = stream };

  tables.stacks = g_array_new (FALSE, FALSE, sizeof (guint32));
  tables.frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  tables.stack_of = g_new0 (guint32, lu_id_table_size (model->nodes) + (gsize) 1);
  find_sites (&tables);
  tables.frame_of = g_new0 (guint32, lu_id_table_size (tables.sites) + (gsize) 1);
  for (guint i = 0; i < model->threads->len; i++)
    g_ptr_array_add (of_thread, g_array_new (FALSE, FALSE, sizeof (guint32)));
  for (guint32 i = 0; i < model->samples->len; i++)
    g_array_append_val (
        g_ptr_array_index (of_thread, g_array_index (model->samples, LuModelSample, i).thread), i);
  write_head (model, stream);
  for (guint i = 0; i < model->threads->len; i++)
    {
      lu_stream_text (stream, i > 0 ? "," : "");
      write_thread (&tables, i, g_ptr_array_index (of_thread, i));
    }
  lu_stream_text (stream, "]}\n");
  g_array_unref (tables.stacks);
  g_array_unref (tables.frames);
  g_free (tables.stack_of);
  g_free (tables.frame_of);
  g_free (tables.site_of);
  lu_id_table_free (tables.sites);
}

const LuFormat lu_format_firefox = {
  .name = "firefox",
  .suffixes = { ".json.gz", ".profile.gz" },
  .gzip = TRUE,
  .has_lines_of_functions = TRUE,
  .needs = LU_MODEL_TIMES,
  .write = write_firefox,
};
