/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-firefox.c - JSON for the Firefox Profiler (https://profiler.firefox.com): its processed
 * format in version 49, which newer versions of the viewer upgrade. Gecko's own format, which it
 * reads too, has no place for files and inlined functions.
 *
 * Each thread has tables, written column by column. A stack is a pair (prefix, frame) with the
 * prefix in an earlier row, a frame is a line of a function, and a function names its file. Times
 * are milliseconds since the start. Categories give kernel, user and generated code their colours.
 * If there are several events, a thread is written once for each of them; its samples are counted,
 * because the viewer knows no unit for other weights. */

#include "firefox-tables.h"
#include "format.h"
#include "tracks.h"

static const struct
{
  const char *name, *color;
} categories[] = {
  [LU_CODE_USER] = { "User", "yellow" },     [LU_CODE_KERNEL] = { "Kernel", "orange" },
  [LU_CODE_GENERATED] = { "JIT", "purple" }, [LU_CODE_NOWHERE] = { "Unknown", "grey" },
  [LU_CODE_STATE] = { "Incomplete", "red" }, [LU_CODE_FUNCTION] = { "Interpreted", "blue" },
};

static void
write_head (const LuModel *model, LuStream *stream)
{
  guint64 ns = lu_model_interval (model);
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (model->capture_time, NULL);
  g_autofree char *start = g_strdup_printf (
      "%" G_GINT64_FORMAT, date != NULL ? g_date_time_to_unix (date) * 1000 : (gint64) 0);
  char interval[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (interval, sizeof interval, "%.6f", ns > 0 ? (double) ns / 1e6 : 1.0);
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
write_track_head (const LuModel *model, LuStream *stream, const LuTrack *track)
{
  const LuModelThread *thread = lu_model_thread (model, track->thread);
  const LuModelProcess *process = lu_model_process_of (model, track->thread);
  g_autofree char *name = lu_track_name (model, track);

  lu_stream_text (stream, "\n{\"name\":");
  lu_stream_json (stream, name);
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
  g_autoptr (GPtrArray) tracks = lu_tracks_new (model);
  g_autoptr (LuFirefoxTables) tables = lu_firefox_tables_new (model, stream);

  write_head (model, stream);
  for (guint i = 0; i < tracks->len; i++)
    {
      const LuTrack *track = g_ptr_array_index (tracks, i);

      lu_stream_text (stream, i > 0 ? "," : "");
      write_track_head (model, stream, track);
      lu_firefox_tables_write (tables, track->samples);
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
