/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* firefox-tables.h - the tables of a thread in the Firefox Profiler's processed format; used by
 * format-firefox.c only.
 *
 * Tables are written column by column. A sample is a stack and a time, a stack is a pair (prefix,
 * frame) whose prefix comes first, a frame is a line of a function at a depth of inlining, and a
 * function names its file. */

#pragma once

#include "profile/model.h"
#include "stream.h"

typedef struct _LuFirefoxTables LuFirefoxTables;

/* Model and stream have to outlive the tables. */
LuFirefoxTables *lu_firefox_tables_new (const LuModel *model, LuStream *stream);
void lu_firefox_tables_free (LuFirefoxTables *self);

/* Writes the tables of one thread, as members of a JSON object. samples: numbers (guint32) of its
 * samples. */
void lu_firefox_tables_write (LuFirefoxTables *self, const GArray *samples);

/* Writes a time in milliseconds since the start of the recording. */
static inline void
lu_firefox_write_time (const LuModel *model, LuStream *stream, gint64 time)
{
  gint64 since = MAX (time - model->time, 0);

  lu_stream_printf (stream, "%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, since / 1000000,
                    since % 1000000);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuFirefoxTables, lu_firefox_tables_free)
