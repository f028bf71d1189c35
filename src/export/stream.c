/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stream.c - buffered output; see stream.h.
 *
 * JSON is written as text, because json-glib would keep a node for each of millions of numbers. */

#include "stream.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <stdarg.h>
#include <string.h>
#include <zlib.h>

#define BUFFER_SIZE (64u << 10)

struct _LuStream
{
  int fd;
  GString *buffer;
  guint64 size;
  gboolean gzip, failed;
  int saved_errno;
  z_stream z;
  guint8 packed[BUFFER_SIZE];
};

LuStream *
lu_stream_new (int fd, gboolean gzip)
{
  LuStream *self = g_new0 (LuStream, 1);

  self->fd = fd;
  self->buffer = g_string_sized_new (BUFFER_SIZE * 2);
  /* a window of 15 bits; 16 selects the gzip format */
  self->gzip =
      gzip
      && deflateInit2 (&self->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)
             == Z_OK;
  self->failed = gzip && !self->gzip;
  return self;
}

void
lu_stream_free (LuStream *self)
{
  if (self == NULL)
    return;
  if (self->gzip)
    deflateEnd (&self->z);
  lu_fd_clear (&self->fd);
  g_string_free (self->buffer, TRUE);
  g_free (self);
}

static void
emit (LuStream *self, gconstpointer bytes, gsize size)
{
  if (self->failed || size == 0 || lu_fd_write_all (self->fd, bytes, size))
    return;
  self->failed = TRUE;
  self->saved_errno = errno;
}

static void
pack (LuStream *self, int flush)
{
  self->z.next_in = (Bytef *) self->buffer->str;
  self->z.avail_in = (uInt) self->buffer->len;
  do
    {
      self->z.next_out = self->packed;
      self->z.avail_out = sizeof self->packed;
      deflate (&self->z, flush);
      emit (self, self->packed, sizeof self->packed - self->z.avail_out);
    }
  while (self->z.avail_out == 0);
}

static void
drain (LuStream *self, gboolean is_last)
{
  if (self->gzip)
    pack (self, is_last ? Z_FINISH : Z_NO_FLUSH);
  else
    emit (self, self->buffer->str, self->buffer->len);
  g_string_set_size (self->buffer, 0);
}

void
lu_stream_write (LuStream *self, gconstpointer bytes, gsize size)
{
  self->size += size;
  if (self->failed)
    return;
  g_string_append_len (self->buffer, bytes, (gssize) size);
  if (self->buffer->len >= BUFFER_SIZE)
    drain (self, FALSE);
}

void
lu_stream_text (LuStream *self, const char *text)
{
  lu_stream_write (self, text, strlen (text));
}

void
lu_stream_printf (LuStream *self, const char *format, ...)
{
  gsize before = self->buffer->len;
  va_list arguments;

  va_start (arguments, format);
  g_string_append_vprintf (self->buffer, format, arguments);
  va_end (arguments);
  self->size += self->buffer->len - before;
  if (self->buffer->len >= BUFFER_SIZE)
    drain (self, FALSE);
}

void
lu_stream_json (LuStream *self, const char *text)
{
  const char *run = text;

  lu_stream_write (self, "\"", 1);
  for (const char *at = text; *at != 0; at++)
    {
      guint c = (guchar) *at, size = 1;

      /* U+0080 to U+009F, which are commands for a terminal, too */
      if (c == 0xc2 && (guchar) at[1] < 0xa0 && at[1] != 0)
        {
          c = (guchar) at[1];
          size = 2;
        }
      /* escapes "<", so that no name ends a script */
      else if (c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != 0x7f)
        continue;
      lu_stream_write (self, run, (gsize) (at - run));
      lu_stream_printf (self, "\\u%04x", c);
      at += size - 1;
      run = at + 1;
    }
  lu_stream_text (self, run);
  lu_stream_write (self, "\"", 1);
}

guint64
lu_stream_size (const LuStream *self)
{
  return self->size;
}

void
lu_stream_patch (LuStream *self, guint64 offset, gconstpointer bytes, gsize size)
{
  drain (self, FALSE);
  if (self->failed || self->gzip)
    return;
  if (pwrite (self->fd, bytes, size, (off_t) offset) != (ssize_t) size)
    {
      self->failed = TRUE;
      self->saved_errno = errno;
    }
}

gboolean
lu_stream_finish (LuStream *self, GError **error)
{
  drain (self, TRUE);
  if (!self->failed)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot write the output: %s"),
               g_strerror (self->saved_errno != 0 ? self->saved_errno : ENOMEM));
  return FALSE;
}
