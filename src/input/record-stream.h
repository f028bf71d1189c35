/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-stream.h - cuts a stream of bytes into perf records.
 *
 * Used by the perf.data reader, for files, pipes and inflated parts alike: where the bytes come
 * from is one function. Memory is one buffer of fixed size, whatever the stream says. Belongs to
 * one thread. */

#pragma once

#include <glib.h>

/* What a fill function returns instead of a count of bytes. */
enum
{
  LU_FILL_END = 0,     /* no more, ever */
  LU_FILL_AGAIN = -1,  /* nothing just now */
  LU_FILL_FAILED = -2, /* cannot be read */
};

/* Puts up to `room` (> 0) bytes into `bytes`; returns how many (> 0) or LU_FILL_*. */
typedef gssize (*LuFillFunc) (gpointer data, guint8 *bytes, gsize room);

typedef enum
{
  LU_STREAM_RECORD,
  LU_STREAM_AGAIN,  /* the rest of the next record is not there yet */
  LU_STREAM_END,    /* the stream ended between two records */
  LU_STREAM_CUT,    /* the stream ended inside a record */
  LU_STREAM_BROKEN, /* a header that cannot be (size below 8): where the next record starts is
                       unknown */
  LU_STREAM_FAILED, /* the fill function failed */
} LuStreamResult;

typedef struct
{
  const guint8 *bytes; /* 8-aligned; valid until the next call */
  guint32 type;
  guint32 size;   /* header included, >= 8 */
  guint64 offset; /* of the record in the stream */
} LuRawRecord;

typedef struct
{
  LuFillFunc fill;
  gpointer fill_data;
  guint64 offset;  /* in the stream, of buffer[at] */
  guint64 to_skip; /* bytes to drop before the next record */
  gsize at, used;
  guint8 *buffer;
  guint64 *aligned; /* a record that starts at an odd place is copied here */
} LuRecordStream;

/* The first byte has offset `offset`; it is only counted from there, never sought. */
void lu_record_stream_init (LuRecordStream *self, LuFillFunc fill, gpointer fill_data,
                            guint64 offset);
void lu_record_stream_clear (LuRecordStream *self);

LuStreamResult lu_record_stream_next (LuRecordStream *self, LuRawRecord *record);

/* Leaves out the next `size` bytes: data that follows a record without being one. */
void lu_record_stream_skip (LuRecordStream *self, guint64 size);
