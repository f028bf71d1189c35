/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.h - the thread that owns the sinks: it may block, nobody waits for it. */

#pragma once

#include "base/queue.h"
#include "output/sink.h"
#include "tally.h"

typedef struct _LuWriter LuWriter;

/* input: borrowed. Takes the sink. failed_fd: an eventfd written once when the output fails;
 * borrowed. */
LuWriter *lu_writer_new (LuSink *sink, LuQueue *input, int failed_fd);
/* Begins the capture and starts the thread. */
gboolean lu_writer_start (LuWriter *self, const LuRecording *recording, GError **error);
/* Waits for the input to end. */
void lu_writer_join (LuWriter *self);

/* After join. Writes the final metadata (key, text pairs, ended by NULL) and ends the capture. The
 * error is that of the first failure, also one while recording. */
gboolean lu_writer_finish (LuWriter *self, guint64 end_time, const char *const *metadata,
                           GError **error);
/* After join. */
const LuTally *lu_writer_tally (const LuWriter *self);
guint64 lu_writer_bytes_written (const LuWriter *self);
void lu_writer_free (LuWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWriter, lu_writer_free)
