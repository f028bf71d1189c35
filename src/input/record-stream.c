/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-stream.c - a buffer that is filled at its end and read record by record.
 *
 * A record is at most 65,535 bytes long (its size is a u16), so the buffer always holds a whole
 * one. Unread bytes move to the front only when the buffer must be filled, which is at most one
 * record per fill. */

#include "input/record-stream.h"

#include <linux/perf_event.h>
#include <string.h>

enum
{
  BUFFER_SIZE = 256 * 1024,
  RECORD_MAX = 65536,
};

void
lu_record_stream_init (LuRecordStream *self, LuFillFunc fill, gpointer fill_data, guint64 offset)
{
  *self = (LuRecordStream){ .fill = fill, .fill_data = fill_data, .offset = offset };
  self->buffer = g_malloc (BUFFER_SIZE);
  self->aligned = g_malloc (RECORD_MAX);
}

void
lu_record_stream_clear (LuRecordStream *self)
{
  g_clear_pointer (&self->buffer, g_free);
  g_clear_pointer (&self->aligned, g_free);
}

static void
consume (LuRecordStream *self, gsize size)
{
  self->at += size;
  self->offset += size;
}

/* Makes `size` bytes available at buffer[at]. */
static LuStreamResult
ensure (LuRecordStream *self, gsize size)
{
  while (self->used - self->at < size)
    {
      gssize got;

      if (self->at > 0)
        {
          memmove (self->buffer, self->buffer + self->at, self->used - self->at);
          self->used -= self->at;
          self->at = 0;
        }
      got = self->fill (self->fill_data, self->buffer + self->used, BUFFER_SIZE - self->used);
      if (got == LU_FILL_END)
        return self->used == 0 ? LU_STREAM_END : LU_STREAM_CUT;
      if (got < 0)
        return got == LU_FILL_AGAIN ? LU_STREAM_AGAIN : LU_STREAM_FAILED;
      self->used += (gsize) got;
    }
  return LU_STREAM_RECORD;
}

static LuStreamResult
skip_pending (LuRecordStream *self)
{
  while (self->to_skip > 0)
    {
      LuStreamResult result = ensure (self, 1);
      gsize size;

      if (result != LU_STREAM_RECORD)
        return result == LU_STREAM_END ? LU_STREAM_CUT : result;
      size = (gsize) MIN (self->to_skip, self->used - self->at);
      consume (self, size);
      self->to_skip -= size;
    }
  return LU_STREAM_RECORD;
}

LuStreamResult
lu_record_stream_next (LuRecordStream *self, LuRawRecord *record)
{
  struct perf_event_header header;
  LuStreamResult result = skip_pending (self);

  if (result == LU_STREAM_RECORD)
    result = ensure (self, sizeof header);
  if (result != LU_STREAM_RECORD)
    return result;
  memcpy (&header, self->buffer + self->at, sizeof header);
  if (header.size < sizeof header)
    return LU_STREAM_BROKEN;
  result = ensure (self, header.size);
  if (result != LU_STREAM_RECORD)
    return result;

  *record = (LuRawRecord){ .bytes = self->buffer + self->at,
                           .type = header.type,
                           .size = header.size,
                           .offset = self->offset };
  if (self->at % 8 != 0)
    {
      memcpy (self->aligned, record->bytes, record->size);
      record->bytes = (const guint8 *) self->aligned;
    }
  consume (self, record->size);
  return LU_STREAM_RECORD;
}

void
lu_record_stream_skip (LuRecordStream *self, guint64 size)
{
  self->to_skip = size > G_MAXUINT64 - self->to_skip ? G_MAXUINT64 : self->to_skip + size;
}
