/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* writer.h - the thread that owns the sinks: it may block, nobody waits for it.
 *
 * It takes the drain's messages in order, and the worker's answers where the drain kept places for
 * them. The functions are the main thread's unless they say otherwise. */

#pragma once

#include "base/queue.h"
#include "copy-size.h"
#include "rotation.h"

typedef struct _LuWriter LuWriter;

/* Snapshots for other threads. */
typedef struct
{
  guint64 unwindable; /* samples that had registers and stack */
  guint64 complete;
} LuWriterProgress;

/* Returns complete over unwindable, in percent; NAN if nothing was unwindable. */
double lu_writer_complete_percent (const LuWriterProgress *progress);

/* The queues and copy_size are borrowed. join: complete cut-off stacks from other samples of their
 * thread (join.h). failed_fd: an eventfd written once when the output fails; borrowed. */
LuWriter *lu_writer_new (LuQueue *from_drain, LuQueue *from_worker, LuCopySize *copy_size,
                         gboolean join, int failed_fd);
/* Leaves an interpreter's own frames in stacks, beside the functions that it ran. Before start. */
void lu_writer_keep_native_frames (LuWriter *self);
/* Sets how long to wait for answers of the worker at their places, all together until nothing else
 * is left to write; a late answer is written when it comes. -1, the default: no limit. Before
 * start.
 */
void lu_writer_set_patience (LuWriter *self, int patience_ms);
/* Takes the sink and begins it, which may need rights that are given up before the thread starts.
 * rotation: the sink, if it is one; else NULL. */
gboolean lu_writer_begin (LuWriter *self, LuSink *sink, LuRotation *rotation,
                          const LuRecording *recording, GError **error);
void lu_writer_start (LuWriter *self);
/* Waits for the ends of both queues. */
void lu_writer_join (LuWriter *self);

/* Any thread. */
void lu_writer_get_progress (LuWriter *self, LuWriterProgress *progress);

/* Writes a last line to the log (NULL: none) and the final metadata (key, text pairs, ended by
 * NULL) and ends the sink. The error is that of the first failure, also one while recording. After
 * join. */
gboolean lu_writer_finish (LuWriter *self, guint64 end_time, const char *last_line,
                           const char *const *metadata, GError **error);
/* After join. */
const LuStatistics *lu_writer_statistics (const LuWriter *self);
guint64 lu_writer_bytes_written (const LuWriter *self);
void lu_writer_free (LuWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWriter, lu_writer_free)
