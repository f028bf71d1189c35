/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* inflate-zstd.c - inflates with libzstd, whose default limit bounds the window and so the memory
 * (128 MiB). */

#include "input/inflate.h"

#include "base/error.h"
#include "input/record-stream.h"

#include <zstd.h>

struct _LuInflate
{
  ZSTD_DStream *stream;
  ZSTD_inBuffer piece; /* in `bytes` */
  gboolean is_full; /* the last call filled its buffer: more may follow without another compressed
                       record */
  guint8 *bytes;
  gsize capacity;
};

LuInflate *
lu_inflate_new (GError **error)
{
  ZSTD_DStream *stream = ZSTD_createDStream ();
  LuInflate *self;

  if (stream == NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "out of memory for zstd");
      return NULL;
    }
  self = g_new0 (LuInflate, 1);
  self->stream = stream;
  return self;
}

void
lu_inflate_free (LuInflate *self)
{
  if (self == NULL)
    return;
  ZSTD_freeDStream (self->stream);
  g_free (self->bytes);
  g_free (self);
}

void
lu_inflate_feed (LuInflate *self, gconstpointer bytes, gsize size)
{
  if (size > self->capacity)
    {
      self->bytes = g_realloc (self->bytes, size);
      self->capacity = size;
    }
  if (size > 0)
    memcpy (self->bytes, bytes, size);
  self->piece = (ZSTD_inBuffer){ .src = self->bytes, .size = size };
}

gssize
lu_inflate_fill (gpointer data, guint8 *bytes, gsize room)
{
  LuInflate *self = data;
  ZSTD_outBuffer out = { .dst = bytes, .size = room };

  while (out.pos == 0 && (self->is_full || self->piece.pos < self->piece.size))
    {
      gsize before = self->piece.pos;

      if (ZSTD_isError (ZSTD_decompressStream (self->stream, &out, &self->piece)))
        return LU_FILL_FAILED;
      self->is_full = out.pos == out.size;
      if (out.pos == 0 && self->piece.pos == before)
        break;
    }
  return out.pos > 0 ? (gssize) out.pos : LU_FILL_AGAIN;
}
