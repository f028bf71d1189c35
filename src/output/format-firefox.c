/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-firefox.c - JSON for the Firefox Profiler (https://profiler.firefox.com): its processed
 * format of version 49, which later ones upgrade. The other one that it reads, Gecko's, has no
 * place for files and inlined functions.
 *
 * Tables per thread, column by column: stacks are (prefix, frame) with the prefix in front, frames
 * are a line of a function, functions name files. Times are milliseconds since the start.
 * Categories give kernel, user and generated code their colours. */

#include "output/firefox-tables.h"
#include "output/format.h"

static const struct
{
  const char *name, *color;
} categories[] = {
  [LU_CODE_USER] = { "User", "yellow" },     [LU_CODE_KERNEL] = { "Kernel", "orange" },
  [LU_CODE_GENERATED] = { "JIT", "purple" }, [LU_CODE_NOWHERE] = { "Unknown", "grey" },
  [LU_CODE_STATE] = { "Incomplete", "red" },
};

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
                    "{\"meta\":{\"preprocessedProfileVersion\":49,\"version\":24,\"startTime\":%s,"
                    "\"interval\":%s,\"stackwalk\":1,\"debug\":false,\"processType\":0,"
                    "\"symbolicated\":true,\"product\":\"live-unwinder\",\"pausedRanges\":[],"
                    "\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
                    "\"sourceCodeIsNotOnSearchfox\":true,\"sampleUnits\":{\"time\":\"ms\","
                    "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"\u00b5s\"},"
                    "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
                    "\"categories\":[",
                    start, interval);
  for (guint i = 0; i < G_N_ELEMENTS (categories); i++)
    lu_stream_printf (stream, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
                      i > 0 ? "," : "", categories[i].name, categories[i].color);
  lu_stream_text (stream, "],\"markerSchema\":[]},\"libs\":[],\"pages\":[],\"counters\":[],"
                          "\"profilerOverhead\":[],\"threads\":[");
}

static void
write_thread_head (const LuModel *model, LuStream *stream, guint32 number)
{
  const LuModelThread *thread = lu_model_thread (model, number);
  const LuModelProcess *process = lu_model_process_of (model, number);

  lu_stream_text (stream, "\n{\"name\":");
  lu_stream_json (stream, process->name);
  lu_stream_text (stream, ",\"processName\":");
  lu_stream_json (stream, process->name);
  lu_stream_printf (stream,
                    ",\"isMainThread\":%s,\"processType\":\"default\",\"pid\":\"%d\","
                    "\"tid\":%d,\"pausedRanges\":[],\"registerTime\":",
                    thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid);
  lu_firefox_write_time (model, stream, thread->begin);
  lu_stream_text (stream, ",\"processStartupTime\":");
  lu_firefox_write_time (model, stream, thread->begin);
  lu_stream_text (stream, ",\"unregisterTime\":null,\"processShutdownTime\":");
  if (process->end > 0)
    lu_firefox_write_time (model, stream, process->end);
  else
    lu_stream_text (stream, "null");
  lu_stream_text (stream, ",\n\"markers\":{\"length\":0,\"category\":[],\"data\":[],"
                          "\"endTime\":[],\"name\":[],\"phase\":[],\"startTime\":[]},\n");
}

static void
write_firefox (const LuModel *model, LuStream *stream)
{
  g_autoptr (GPtrArray) of_thread = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autoptr (LuFirefoxTables) tables = lu_firefox_tables_new (model, stream);

  for (guint i = 0; i < model->threads->len; i++)
    g_ptr_array_add (of_thread, g_array_new (FALSE, FALSE, sizeof (guint32)));
  for (guint32 i = 0; i < model->samples->len; i++)
    g_array_append_val (
        g_ptr_array_index (of_thread, g_array_index (model->samples, LuModelSample, i).thread), i);
  write_head (model, stream);
  for (guint i = 0; i < model->threads->len; i++)
    {
      lu_stream_text (stream, i > 0 ? "," : "");
      write_thread_head (model, stream, i);
      lu_firefox_tables_write (tables, g_ptr_array_index (of_thread, i));
      lu_stream_text (stream, "}");
    }
  lu_stream_text (stream, "]}\n");
}

const LuFormat lu_format_firefox = {
  .name = "firefox",
  .suffixes = { ".json.gz", ".profile.gz" },
  .gzip = TRUE,
  .has_lines_of_functions = TRUE,
  .needs = LU_MODEL_TIMES,
  .write = write_firefox,
};
