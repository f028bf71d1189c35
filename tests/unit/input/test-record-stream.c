/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-record-stream.c - records come out whole, whatever pieces the bytes arrive in. */

#include "input/record-stream.h"

#include <linux/perf_event.h>
#include <string.h>

/* Supplies `bytes` in pieces, with a pause before each. */
typedef struct
{
  GByteArray *bytes;
  gsize at, piece;
  gboolean is_paused, fails;
} Pieces;

static gssize
fill (gpointer data, guint8 *bytes, gsize room)
{
  Pieces *self = data;
  gsize size = MIN (MIN (self->piece, room), self->bytes->len - self->at);

  self->is_paused = !self->is_paused;
  if (self->is_paused)
    return LU_FILL_AGAIN;
  if (size == 0)
    return self->fails ? LU_FILL_FAILED : LU_FILL_END;
  memcpy (bytes, self->bytes->data + self->at, size);
  self->at += size;
  return (gssize) size;
}

static void
add_record (GByteArray *bytes, guint32 type, guint16 size)
{
  struct perf_event_header header = { .type = type, .size = size };
  gsize start = bytes->len;

  g_byte_array_set_size (bytes, (guint) (start + MAX (size, sizeof header)));
  memset (bytes->data + start, (int) type, bytes->len - start);
  memcpy (bytes->data + start, &header, sizeof header);
}

/* Returns the next result that is not a pause. */
static LuStreamResult
next (LuRecordStream *stream, LuRawRecord *record)
{
  LuStreamResult result;

  do
    result = lu_record_stream_next (stream, record);
  while (result == LU_STREAM_AGAIN);
  return result;
}

static void
expect_record (LuRecordStream *stream, guint32 type, guint32 size, guint64 offset)
{
  LuRawRecord record;

  g_assert_cmpint (next (stream, &record), ==, LU_STREAM_RECORD);
  g_assert_cmpuint (record.type, ==, type);
  g_assert_cmpuint (record.size, ==, size);
  g_assert_cmpuint (record.offset, ==, offset);
  g_assert_cmpuint ((gsize) record.bytes % 8, ==, 0);
  if (size > 8)
    g_assert_cmpuint (record.bytes[size - 1], ==, type);
}

static void
test_pieces (void)
{
  static const gsize pieces[] = { 1, 7, 8, 4096, 1 << 20 };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  for (guint32 i = 1; i <= 20; i++)
    add_record (bytes, i, i % 5 == 0 ? 65535 : (guint16) (8 + i));
  for (gsize i = 0; i < G_N_ELEMENTS (pieces); i++)
    {
      Pieces source = { .bytes = bytes, .piece = pieces[i] };
      LuRecordStream stream;
      LuRawRecord record;
      guint64 offset = 1000;

      lu_record_stream_init (&stream, fill, &source, offset);
      for (guint32 k = 1; k <= 20; k++)
        {
          guint32 size = k % 5 == 0 ? 65535 : 8 + k;

          expect_record (&stream, k, size, offset);
          offset += size;
        }
      g_assert_cmpint (next (&stream, &record), ==, LU_STREAM_END);
      lu_record_stream_clear (&stream);
    }
}

static void
test_skip (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  Pieces source = { .bytes = bytes, .piece = 100000 };
  LuRecordStream stream;
  LuRawRecord record;

  add_record (bytes, 1, 16);
  g_byte_array_set_size (bytes, 16 + 600001);
  add_record (bytes, 2, 16);
  lu_record_stream_init (&stream, fill, &source, 0);
  expect_record (&stream, 1, 16, 0);
  lu_record_stream_skip (&stream, 600001);
  expect_record (&stream, 2, 16, 600017);
  lu_record_stream_skip (&stream, G_MAXUINT64);
  lu_record_stream_skip (&stream, G_MAXUINT64);
  g_assert_cmpint (next (&stream, &record), ==, LU_STREAM_CUT);
  lu_record_stream_clear (&stream);
}

static void
test_ends (void)
{
  static const struct
  {
    guint16 size; /* in the header of the only record */
    guint length; /* length of the stream */
    gboolean fails;
    LuStreamResult result;
  } cases[] = {
    { 16, 0, FALSE, LU_STREAM_END },       { 16, 4, FALSE, LU_STREAM_CUT },
    { 16, 15, FALSE, LU_STREAM_CUT },      { 0, 64, FALSE, LU_STREAM_BROKEN },
    { 7, 64, FALSE, LU_STREAM_BROKEN },    { 65535, 64, FALSE, LU_STREAM_CUT },
    { 65535, 64, TRUE, LU_STREAM_FAILED },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      Pieces source = { .bytes = bytes, .piece = 5, .fails = cases[i].fails };
      LuRecordStream stream;
      LuRawRecord record;

      add_record (bytes, 1, cases[i].size);
      g_byte_array_set_size (bytes, cases[i].length);
      lu_record_stream_init (&stream, fill, &source, 0);
      g_assert_cmpint (next (&stream, &record), ==, cases[i].result);
      lu_record_stream_clear (&stream);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/record-stream/pieces", test_pieces);
  g_test_add_func ("/record-stream/skip", test_skip);
  g_test_add_func ("/record-stream/ends", test_ends);
  return g_test_run ();
}
