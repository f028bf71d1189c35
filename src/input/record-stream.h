/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-stream.h - cuts a stream of bytes into perf records.
 *
 * Used by the perf.data reader for files, pipes and inflated parts; a fill function supplies the
 * bytes. Memory is one buffer of fixed size, whatever the stream contains. Belongs to one thread.
 */

#pragma once

#include <glib.h>

/* Results of a fill function other than a number of bytes. */
enum
{
  LU_FILL_END = 0,     /* the stream has ended */
  LU_FILL_AGAIN = -1,  /* nothing available now */
  LU_FILL_FAILED = -2, /* cannot be read */
};

/* Writes up to `room` (> 0) bytes to `bytes`. Returns their number (> 0) or LU_FILL_*. */
typedef gssize (*LuFillFunc) (gpointer data, guint8 *bytes, gsize room);

typedef enum
{
  LU_STREAM_RECORD,
  LU_STREAM_AGAIN,  /* the rest of the next record is not available yet */
  LU_STREAM_END,    /* the stream ended between two records */
  LU_STREAM_CUT,    /* the stream ended inside a record */
  LU_STREAM_BROKEN, /* impossible header (size below 8): the start of the next record is unknown */
  LU_STREAM_FAILED, /* the fill function failed */
} LuStreamResult;

typedef struct
{
  const guint8 *bytes; /* 8-aligned; valid until the next call */
  guint32 type;
  guint32 size;   /* header included, >= 8 */
  guint64 offset; /* position of the record in the stream */
} LuRawRecord;

typedef struct
{
  LuFillFunc fill;
  gpointer fill_data;
  guint64 offset;  /* position of buffer[at] in the stream */
  guint64 to_skip; /* bytes to drop before the next record */
  gsize at, used;
  guint8 *buffer;
  guint64 *aligned; /* a record at an unaligned position is copied here */
} LuRecordStream;

/* Initializes the stream. The first byte has offset `offset`, which only serves for counting. */
void lu_record_stream_init (LuRecordStream *self, LuFillFunc fill, gpointer fill_data,
                            guint64 offset);
void lu_record_stream_clear (LuRecordStream *self);

LuStreamResult lu_record_stream_next (LuRecordStream *self, LuRawRecord *record);

/* Skips the next `size` bytes: data that follows a record without being one. */
void lu_record_stream_skip (LuRecordStream *self, guint64 size);
