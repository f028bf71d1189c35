/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-writer.h - whole frames of a Sysprof capture, buffered, onto a descriptor.
 *
 * Owned by the writer thread. After a failed write nothing more is written: every later call fails
 * with the same error, and a regular file is cut back to its last whole frame. */

#pragma once

#include "output/syscap-format.h"

typedef struct _LuSyscapWriter LuSyscapWriter;

/* Takes `fd`; -1: only a tap gets what is written. A regular file is written from its current
 * offset. SIGPIPE has to be ignored in the process. */
LuSyscapWriter *lu_syscap_writer_new (int fd);
/* For a reader that may be slow or stop reading: when `stop_fd` (an eventfd; borrowed) becomes
 * readable, writing goes on only while the reader reads (pauses are measured before), and for
 * thirty seconds at most; then it fails with LU_ERROR_NO_READER. Before that, call it once, with
 * the rights to open the descriptor anew. */
void lu_syscap_writer_set_stop (LuSyscapWriter *self, int stop_fd);
/* Gets all that is written (the header first, then whole frames), before it is. */
typedef void (*LuSyscapWriterTap) (gconstpointer bytes, gsize size, gpointer user_data);
void lu_syscap_writer_set_tap (LuSyscapWriter *self, LuSyscapWriterTap tap, gpointer user_data);
/* Does not write what is still buffered: call finish() first. */
void lu_syscap_writer_free (LuSyscapWriter *self);

/* Writes the file header; the first call. time: ns, CLOCK_MONOTONIC; wall_clock: µs since the
 * epoch. */
gboolean lu_syscap_writer_header (LuSyscapWriter *self, guint64 time, gint64 wall_clock,
                                  GError **error);

/* Appends a frame of `size` bytes (frame header included, without padding, at most
 * LU_SYSCAP_MAX_FRAME) and returns it to be filled, zeroed behind its header; valid until the next
 * call. Times before that of the file header are lifted to it. NULL when an earlier or this write
 * failed. */
gpointer lu_syscap_writer_add (LuSyscapWriter *self, LuSyscapType type, gsize size, gint32 cpu,
                               gint32 pid, guint64 time, GError **error);

gboolean lu_syscap_writer_flush (LuSyscapWriter *self, GError **error);
/* Flushes, and notes the end time in the header where the file can be sought; also after a failure,
 * as far as that is possible. */
gboolean lu_syscap_writer_finish (LuSyscapWriter *self, guint64 end_time, GError **error);

/* Bytes handed to the kernel plus bytes still buffered. */
guint64 lu_syscap_writer_size (const LuSyscapWriter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapWriter, lu_syscap_writer_free)
