/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.h - the thread that owns the sinks: it may block, nobody waits for it.
 *
 * It takes what the drain sends, in order, and the worker's answers where the drain kept places for
 * them. */

#pragma once

#include "base/queue.h"
#include "output/sink.h"
#include "rotation.h"
#include "tally.h"

typedef struct _LuWriter LuWriter;

/* Numbers other threads look at while recording; each is a snapshot. */
typedef struct
{
  guint64 walked; /* samples that had registers and stack */
  guint64 complete;
  /* Of the worker's answers since the last lu_writer_reset_window(), with copies as they are asked
   * for now: all, and those cut off by the size. */
  guint64 window, truncated;
} LuWriterProgress;

/* The queues are borrowed. Takes the sink. join: complete cut-off stacks from others of their
 * thread (join.h). failed_fd: an eventfd written once when the output fails; borrowed. */
LuWriter *lu_writer_new (LuSink *sink, LuQueue *from_drain, LuQueue *from_worker, gboolean join,
                         int failed_fd);
/* Before begin: the sink is that of a rotation. */
void lu_writer_set_rotation (LuWriter *self, LuRotation *rotation);
/* Before start: no answer of the worker is waited for longer than this; what comes later is written
 * when it comes. By default each is waited for. */
void lu_writer_set_patience (LuWriter *self, int patience_ms);
/* Begins the capture, which may take rights that are given up before the thread starts. */
gboolean lu_writer_begin (LuWriter *self, const LuRecording *recording, GError **error);
void lu_writer_start (LuWriter *self);
/* Waits for both queues to end. */
void lu_writer_join (LuWriter *self);
/* Any thread: no further answer of the worker will come. */
void lu_writer_give_up_answers (LuWriter *self);

/* Any thread. Truncation is counted against copies of at least this size from now on. */
void lu_writer_reset_window (LuWriter *self, guint32 stack_size);
void lu_writer_get_progress (LuWriter *self, LuWriterProgress *progress);

/* After join. Writes a last line for its readers (may be NULL) and the final metadata (key, text
 * pairs, ended by NULL) and ends the capture. The
 * error is that of the first failure, also one while recording. */
gboolean lu_writer_finish (LuWriter *self, guint64 end_time, const char *last_line,
                           const char *const *metadata, GError **error);
/* After join. */
const LuTally *lu_writer_tally (const LuWriter *self);
guint64 lu_writer_bytes_written (const LuWriter *self);
void lu_writer_free (LuWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWriter, lu_writer_free)
