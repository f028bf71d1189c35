/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* firefox-tables.h - the tables of a thread in the Firefox Profiler's processed format; used by
 * format-firefox.c only.
 *
 * Column by column: samples are a stack and a time, stacks are (prefix, frame) with the prefix in
 * front, frames are a line of a function, so deep in what is inlined there, functions name files.
 */

#pragma once

#include "output/model.h"
#include "output/stream.h"

typedef struct _LuFirefoxTables LuFirefoxTables;

/* Both have to outlive it. */
LuFirefoxTables *lu_firefox_tables_new (const LuModel *model, LuStream *stream);
void lu_firefox_tables_free (LuFirefoxTables *self);

/* Writes the tables of the thread that these samples (numbers, of guint32) are of, as members of an
 * object. */
void lu_firefox_tables_write (LuFirefoxTables *self, const GArray *samples);

/* Milliseconds since the recording began. */
static inline void
lu_firefox_write_time (const LuModel *model, LuStream *stream, gint64 time)
{
  gint64 since = MAX (time - model->time, 0);

  lu_stream_printf (stream, "%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, since / 1000000,
                    since % 1000000);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuFirefoxTables, lu_firefox_tables_free)
