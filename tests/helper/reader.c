/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader.c - reads the capture pipe at a given speed, and checks what Sysprof's muxer relies on.
 *
 * The muxer skips 256 bytes, then accepts frames whose length must be a multiple of 8 and whose
 * type it must know. The first bad frame ends the checks, because nothing after it can be trusted.
 */

#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define HEADER_SIZE       256
#define FRAME_HEADER_SIZE 24
#define LOG_TYPE          12
#define LOG_TEXT_AT       64
#define CHUNK             65536
#define POLL_MS           10

struct _PlayReader
{
  int fd, output_fd;
  guint64 bytes_per_second;
  GThread *thread;
  pthread_mutex_t reading; /* without it, or while is_running is FALSE, nothing is read */
  gboolean is_running;
  gboolean shall_close; /* this and the next are atomic */
  gboolean shall_end;
  GByteArray *rest; /* a frame that is not complete yet */
  gboolean has_header;
  PlayReaderCounts counts;
};

static void
set_fault (PlayReader *self, gsize left, const char *fault)
{
  self->counts.fault = fault;
  self->counts.fault_at = (gint64) (self->counts.bytes - left);
}

/* Returns the bytes of the frame at `data`, or 0 if it is incomplete or wrong. */
static gsize
take_frame (PlayReader *self, const guint8 *data, gsize size)
{
  guint16 length;
  guint8 type;

  if (!self->has_header)
    {
      self->has_header = size >= HEADER_SIZE;
      return self->has_header ? HEADER_SIZE : 0;
    }
  if (size < FRAME_HEADER_SIZE)
    return 0;
  memcpy (&length, data, sizeof length);
  type = data[16];
  if (length < FRAME_HEADER_SIZE || length % 8 != 0)
    {
      set_fault (self, size, "length of a frame");
      return 0;
    }
  if (length > size)
    return 0;
  if (type == 0 || type >= PLAY_FRAME_TYPES)
    self->counts.unknown_frames++;
  else
    self->counts.frames[type]++;
  if (type == LOG_TYPE && length > LOG_TEXT_AT)
    g_strlcpy (self->counts.last_log, (const char *) data + LOG_TEXT_AT,
               MIN (sizeof self->counts.last_log, length - LOG_TEXT_AT));
  return length;
}

static void
count (PlayReader *self, const guint8 *data, gsize size)
{
  gsize at = 0, length;

  self->counts.bytes += size;
  self->counts.reads++;
  if (self->counts.fault != NULL)
    return;
  g_byte_array_append (self->rest, data, (guint) size);
  while ((length = take_frame (self, self->rest->data + at, self->rest->len - at)) > 0)
    at += length;
  g_byte_array_remove_range (self->rest, 0, (guint) at);
}

static void
write_all (int fd, const guint8 *data, gsize size)
{
  while (size > 0)
    {
      gssize n = write (fd, data, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        g_error ("writing the capture: %s", g_strerror (errno));
      data += n;
      size -= (gsize) n;
    }
}

/* Returns FALSE at the end. */
static gboolean
read_some (PlayReader *self)
{
  guint8 chunk[CHUNK];
  gsize want = sizeof chunk;
  gssize n;

  if (self->bytes_per_second > 0)
    want = CLAMP (self->bytes_per_second * POLL_MS / 1000, 1, sizeof chunk);
  n = read (self->fd, chunk, want);
  if (n < 0 && errno == EINTR)
    return TRUE;
  if (n <= 0)
    return FALSE;
  count (self, chunk, (gsize) n);
  write_all (self->output_fd, chunk, (gsize) n);
  if (self->bytes_per_second > 0)
    g_usleep ((gulong) n * G_USEC_PER_SEC / self->bytes_per_second);
  return TRUE;
}

/* Reads like the function above; waits a moment for data, or while reading is paused. */
static gboolean
read_or_wait (PlayReader *self)
{
  struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
  gboolean is_ready = poll (&poll_fd, 1, POLL_MS) > 0;
  gboolean goes_on = TRUE, is_running;

  pthread_mutex_lock (&self->reading);
  is_running = self->is_running;
  if (is_ready && is_running)
    goes_on = read_some (self);
  pthread_mutex_unlock (&self->reading);
  if (is_ready && !is_running)
    g_usleep (POLL_MS * 1000 / 2);
  return goes_on;
}

static gpointer
run (gpointer data)
{
  PlayReader *self = data;

  while (!g_atomic_int_get (&self->shall_end))
    {
      if (g_atomic_int_get (&self->shall_close) && self->fd >= 0)
        {
          close (self->fd);
          self->fd = -1;
        }
      if (self->fd < 0)
        g_usleep (POLL_MS * 1000 / 2);
      else if (!read_or_wait (self))
        break;
    }
  return NULL;
}

PlayReader *
play_reader_new (int fd, int output_fd, guint64 bytes_per_second)
{
  PlayReader *self = g_new0 (PlayReader, 1);

  self->fd = fd;
  self->output_fd = output_fd;
  self->bytes_per_second = bytes_per_second;
  self->rest = g_byte_array_new ();
  pthread_mutex_init (&self->reading, NULL);
  self->thread = g_thread_new ("reader", run, self);
  return self;
}

void
play_reader_resume (PlayReader *self)
{
  pthread_mutex_lock (&self->reading);
  self->is_running = TRUE;
  pthread_mutex_unlock (&self->reading);
}

void
play_reader_pause (PlayReader *self)
{
  pthread_mutex_lock (&self->reading);
  self->is_running = FALSE;
  pthread_mutex_unlock (&self->reading);
}

void
play_reader_close (PlayReader *self)
{
  g_atomic_int_set (&self->shall_close, TRUE);
}

void
play_reader_finish (PlayReader *self, gboolean drain)
{
  if (self->thread == NULL)
    return;
  if (!drain)
    g_atomic_int_set (&self->shall_end, TRUE);
  g_thread_join (g_steal_pointer (&self->thread));
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
}

const PlayReaderCounts *
play_reader_get_counts (const PlayReader *self)
{
  return &self->counts;
}

void
play_reader_free (PlayReader *self)
{
  if (self == NULL)
    return;
  play_reader_finish (self, FALSE);
  g_byte_array_unref (self->rest);
  pthread_mutex_destroy (&self->reading);
  g_free (self);
}
