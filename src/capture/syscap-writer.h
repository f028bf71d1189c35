/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-writer.h - buffers frames of a Sysprof capture and writes them to a descriptor.
 *
 * Owned by the writer thread. After a failed write nothing more is written: later calls fail with
 * the same error, and a regular file is truncated to its last whole frame. */

#pragma once

#include "syscap-reader.h"

typedef struct _LuSyscapWriter LuSyscapWriter;

/* Takes `fd`; -1: only a tap receives the frames. A regular file is written from its current
 * offset. The process has to ignore SIGPIPE. */
LuSyscapWriter *lu_syscap_writer_new (int fd);
/* Bounds the time that a slow reader may take. Once `stop_fd` (an eventfd; borrowed) is readable,
 * writing continues only while the reader reads (its earlier pauses are the measure) and for at
 * most thirty seconds; then it fails with LU_ERROR_NO_READER. Call this once, before that, while
 * the process may still open the descriptor again. */
void lu_syscap_writer_set_stop (LuSyscapWriter *self, int stop_fd);
/* A tap receives everything before it is written: the header, then whole frames. */
typedef void (*LuSyscapWriterTap) (gconstpointer bytes, gsize size, gpointer user_data);
void lu_syscap_writer_set_tap (LuSyscapWriter *self, LuSyscapWriterTap tap, gpointer user_data);
/* Discards buffered frames; call finish() first. */
void lu_syscap_writer_free (LuSyscapWriter *self);

/* Writes the file header; has to be the first call. time: ns, CLOCK_MONOTONIC; wall_clock: µs since
 * the epoch. */
gboolean lu_syscap_writer_header (LuSyscapWriter *self, guint64 time, gint64 wall_clock,
                                  GError **error);

/* The header of a frame. */
typedef struct
{
  LuSyscapType type;
  gint32 cpu, pid; /* -1: none */
  guint64 time;    /* ns; raised to the time of the file header if it is earlier */
} LuSyscapHead;

/* Appends a frame of `size` bytes (frame header included, without padding, at most
 * LU_SYSCAP_MAX_FRAME) and returns it to be filled in, zeroed after its header. The frame is valid
 * until the next call. Returns NULL if this or an earlier write failed. */
gpointer lu_syscap_writer_add (LuSyscapWriter *self, const LuSyscapHead *head, gsize size,
                               GError **error);

gboolean lu_syscap_writer_flush (LuSyscapWriter *self, GError **error);
/* Flushes, and stores the end time in the header if the file is seekable. Tries this even after a
 * failure. */
gboolean lu_syscap_writer_finish (LuSyscapWriter *self, guint64 end_time, GError **error);

/* Returns the number of bytes written and buffered. */
guint64 lu_syscap_writer_size (const LuSyscapWriter *self);

/* Writes a frame that was read, or nothing if no lu_syscap_write_*() function writes frames of its
 * type. */
gboolean lu_syscap_copy_frame (LuSyscapWriter *writer, const LuSyscapRecord *record,
                               GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapWriter, lu_syscap_writer_free)
