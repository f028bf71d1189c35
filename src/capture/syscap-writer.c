/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-writer.c - buffers whole frames and writes them out; see syscap-writer.h.
 *
 * The buffer begins and ends at a frame boundary. If a write fails half-way, the frames that
 * reached the file can therefore be counted, and the torn one cut off. Sysprof's own library is not
 * used: it repeats bytes after EINTR, cannot write build-ids on Debian 12, and leaves heap memory
 * in its padding. */

#include "syscap-writer.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

/* About 200 samples of 150 frames. Writing a full buffer costs far less than filling it. */
#define BUFFER_SIZE (256 * 1024)

/* Frames between two indexes; as many as Sysprof writes. */
#define INDEX_INTERVAL (64 * 1024)

/* After the stop: the longest pause of a reader that never paused before, the longest of any reader
 * (twice its longest pause so far, within these limits), and the longest time for everything. */
#define STOP_PAUSE_US     (50 * 1000)
#define STOP_PAUSE_MAX_US G_USEC_PER_SEC
#define STOP_TOTAL_US     (30 * G_USEC_PER_SEC)

struct _LuSyscapWriter
{
  int fd;
  gboolean is_regular;
  LuSyscapWriterTap tap; /* NULL: none */
  gpointer tap_data;
  int stop_fd;          /* borrowed; -1: writes wait without limit */
  gint64 stopped;       /* when we saw it become readable; 0: not yet */
  gint64 longest_pause; /* of the reader before that, µs */
  gint64 file_start;    /* offset of the file header; only if is_regular */
  guint32 n_since_index;
  guint64 last_index, stored_index; /* offsets; what the header has */
  guint64 min_time;
  guint64 written; /* bytes the kernel took */
  gsize used;
  GError *failure; /* the first error; sticky */
  guint8 buffer[BUFFER_SIZE] __attribute__ ((aligned (LU_SYSCAP_ALIGN)));
};

LuSyscapWriter *
lu_syscap_writer_new (int fd)
{
  LuSyscapWriter *self = g_new0 (LuSyscapWriter, 1);
  struct stat st;

  self->fd = fd;
  self->stop_fd = -1;
  /* With O_APPEND ("live-unwinder -o - >> file"), pwrite() would append, too. */
  self->is_regular =
      fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && (fcntl (fd, F_GETFL) & O_APPEND) == 0;
  if (self->is_regular)
    self->file_start = lseek (fd, 0, SEEK_CUR);
  return self;
}

void
lu_syscap_writer_free (LuSyscapWriter *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->fd);
  g_clear_error (&self->failure);
  g_free (self);
}

void
lu_syscap_writer_set_tap (LuSyscapWriter *self, LuSyscapWriterTap tap, gpointer user_data)
{
  self->tap = tap;
  self->tap_data = user_data;
}

void
lu_syscap_writer_set_stop (LuSyscapWriter *self, int stop_fd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", self->fd);
  int own;

  self->stop_fd = stop_fd;
  if (self->is_regular)
    return;
  /* A pipe that is opened again has flags of its own. A socket shares them with its other users. */
  own = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (own >= 0)
    {
      close (self->fd);
      self->fd = own;
    }
  else
    fcntl (self->fd, F_SETFL, fcntl (self->fd, F_GETFL) | O_NONBLOCK);
}

/* Waits for room during the recording. Returns FALSE if the recording stops first. */
static gboolean
wait_while_recording (LuSyscapWriter *self)
{
  struct pollfd fds[] = { { .fd = self->fd, .events = POLLOUT },
                          { .fd = self->stop_fd, .events = POLLIN } };
  gint64 start = g_get_monotonic_time ();

  poll (fds, self->stop_fd >= 0 ? 2 : 1, -1);
  if ((fds[1].revents & POLLIN) == 0 || fds[0].revents != 0)
    {
      self->longest_pause = MAX (self->longest_pause, g_get_monotonic_time () - start);
      return TRUE;
    }
  self->stopped = g_get_monotonic_time ();
  return FALSE;
}

/* Waits for room. Returns FALSE and sets errno if the reader has had its time. */
static gboolean
wait_for_room (LuSyscapWriter *self)
{
  struct pollfd fd = { .fd = self->fd, .events = POLLOUT };
  gint64 pause = CLAMP (self->longest_pause * 2, STOP_PAUSE_US, STOP_PAUSE_MAX_US);

  if (self->stopped == 0 && wait_while_recording (self))
    return TRUE;
  if (g_get_monotonic_time () < self->stopped + STOP_TOTAL_US
      && poll (&fd, 1, (int) (pause / 1000)) != 0)
    return TRUE;
  errno = ETIMEDOUT;
  return FALSE;
}

/* Writes as much as possible, handling EINTR, short writes and descriptors that must not block.
 * Returns the number of bytes written; if it is less than `size`, errno says why. */
static gsize
write_some (LuSyscapWriter *self, const guint8 *bytes, gsize size)
{
  gsize done = 0;

  while (done < size)
    {
      gssize n =
          self->fd < 0 ? (gssize) (size - done) : write (self->fd, bytes + done, size - done);

      if (n >= 0)
        done += (gsize) n;
      else if (errno == EAGAIN || errno == EWOULDBLOCK)
        {
          if (!wait_for_room (self))
            break;
        }
      else if (errno != EINTR)
        break;
    }
  return done;
}

/* Returns how many of the first `size` bytes of the buffer are whole frames (or the file header).
 */
static gsize
whole_frames (const LuSyscapWriter *self, gsize size)
{
  gsize whole = 0;

  if (self->written == 0)
    {
      if (size < sizeof (LuSyscapHeader))
        return 0;
      whole = sizeof (LuSyscapHeader);
    }
  while (whole + sizeof (LuSyscapFrame) <= size)
    {
      guint16 len;

      memcpy (&len, self->buffer + whole, sizeof len);
      if (whole + len > size)
        break;
      whole += len;
    }
  return whole;
}

static void
fail (LuSyscapWriter *self, gsize done)
{
  int saved_errno = errno;
  gsize whole = whole_frames (self, done);

  if (whole < done && self->is_regular)
    {
      gint64 end = self->file_start + (gint64) (self->written + whole);

      if (ftruncate (self->fd, end) == 0)
        done = whole;
    }
  self->written += done;
  self->used = 0;
  if (saved_errno == EPIPE || saved_errno == ETIMEDOUT || saved_errno == ECONNRESET)
    self->failure = g_error_new_literal (
        LU_ERROR, LU_ERROR_NO_READER, "cannot write the capture: nobody reads the pipe any more");
  else
    self->failure = g_error_new (LU_ERROR, LU_ERROR_FAILED,
                                 "cannot write the capture: %s; what was written up to then, "
                                 "%" G_GUINT64_FORMAT " bytes, can be read",
                                 g_strerror (saved_errno), self->written);
}

static gboolean
check (LuSyscapWriter *self, GError **error)
{
  if (self->failure == NULL)
    return TRUE;
  if (error != NULL)
    *error = g_error_copy (self->failure);
  return FALSE;
}

/* Stores a value in the header of a regular file. Returns whether that worked. */
static gboolean
store (LuSyscapWriter *self, gsize offset, guint64 value)
{
  gssize n;

  do
    n = pwrite (self->fd, &value, sizeof value, self->file_start + (gint64) offset);
  while (n < 0 && errno == EINTR);
  return n == sizeof value;
}

/* The header names only indexes that are in the file. */
static void
store_index (LuSyscapWriter *self)
{
  if (self->stored_index != self->last_index
      && store (self, offsetof (LuSyscapHeader, last_index), self->last_index))
    self->stored_index = self->last_index;
}

gboolean
lu_syscap_writer_flush (LuSyscapWriter *self, GError **error)
{
  gsize done;

  if (self->failure == NULL && self->used > 0)
    {
      if (self->tap != NULL)
        self->tap (self->buffer, self->used, self->tap_data);
      done = write_some (self, self->buffer, self->used);
      if (done < self->used)
        fail (self, done);
      else
        {
          self->written += done;
          self->used = 0;
          store_index (self);
        }
    }
  return check (self, error);
}

gboolean
lu_syscap_writer_header (LuSyscapWriter *self, guint64 time, gint64 wall_clock, GError **error)
{
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (wall_clock / G_USEC_PER_SEC);
  g_autofree char *text = date != NULL ? g_date_time_format_iso8601 (date) : NULL;
  LuSyscapHeader header = { .magic = LU_SYSCAP_MAGIC,
                            .version_and_flags = LU_SYSCAP_VERSION | LU_SYSCAP_LITTLE_ENDIAN,
                            .time = (gint64) time };

  g_assert (self->written == 0 && self->used == 0);
  if (text != NULL)
    g_strlcpy (header.capture_time, text, sizeof header.capture_time);
  self->min_time = time;
  memcpy (self->buffer, &header, sizeof header);
  self->used = sizeof header;
  return check (self, error);
}

static gpointer
append (LuSyscapWriter *self, const LuSyscapHead *head, gsize size, GError **error)
{
  gsize len = (size + LU_SYSCAP_ALIGN - 1) & ~(gsize) (LU_SYSCAP_ALIGN - 1);
  LuSyscapFrame *frame;

  g_assert (size >= sizeof *frame && len <= LU_SYSCAP_MAX_FRAME);
  if (self->used + len > BUFFER_SIZE && !lu_syscap_writer_flush (self, error))
    return NULL;
  if (!check (self, error))
    return NULL;

  frame = (LuSyscapFrame *) (self->buffer + self->used);
  memset (frame, 0, len);
  frame->len = (guint16) len;
  frame->cpu = head->cpu >= 0 && head->cpu <= G_MAXINT16 ? (gint16) head->cpu : -1;
  frame->pid = head->pid;
  frame->time = (gint64) MIN (MAX (head->time, self->min_time), G_MAXINT64);
  frame->type = (guint8) head->type;
  self->used += len;
  return frame;
}

static gboolean
add_index (LuSyscapWriter *self, guint64 time, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_TIMESTAMP, -1, -1, time };
  const guint32 magic = LU_SYSCAP_INDEX_MAGIC;
  LuSyscapIndexFrame *frame = append (self, &head, sizeof *frame, error);

  if (frame == NULL)
    return FALSE;
  memcpy (&frame->frame.padding[3], &magic, sizeof magic);
  frame->previous_index = self->last_index;
  self->last_index = self->written + self->used - sizeof *frame;
  self->n_since_index = 1; /* the frame that comes next */
  return TRUE;
}

gpointer
lu_syscap_writer_add (LuSyscapWriter *self, const LuSyscapHead *head, gsize size, GError **error)
{
  gboolean is_indexed = self->is_regular && self->file_start == 0;

  if (is_indexed && self->n_since_index++ == INDEX_INTERVAL && !add_index (self, head->time, error))
    return NULL;
  return append (self, head, size, error);
}

gboolean
lu_syscap_writer_finish (LuSyscapWriter *self, guint64 end_time, GError **error)
{
  gboolean ok = lu_syscap_writer_flush (self, error), is_stored;

  if (!self->is_regular || self->written < sizeof (LuSyscapHeader))
    return ok;
  is_stored = store (self, offsetof (LuSyscapHeader, end_time), MAX (end_time, self->min_time));
  if (ok && !is_stored)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot finish the capture: %s"),
                   g_strerror (errno));
      return FALSE;
    }
  return ok;
}

guint64
lu_syscap_writer_size (const LuSyscapWriter *self)
{
  return self->written + self->used;
}
