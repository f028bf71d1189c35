/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-data.c - reads the records of a perf.data file or pipe.
 *
 * perf's own records are used here (events, features, build-ids, compressed data) or skipped with
 * the data that follows them. All other records, and the ends of rounds, go to the caller. */

#include "input/perf-data.h"

#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>

/* perf's own records (tools/lib/perf/include/perf/event.h, enum perf_user_event_type). */
enum
{
  HEADER_ATTR = 64,
  HEADER_TRACING_DATA = 66,
  HEADER_BUILD_ID = 67,
  AUXTRACE = 71,
  HEADER_FEATURE = 80,
  COMPRESSED = 81,
  COMPRESSED2 = 83, /* perf 6.16: { u64 size } before the data, which is padded */
};

void
lu_perf_data_free (LuPerfData *self)
{
  if (self == NULL)
    return;
  lu_record_stream_clear (&self->records);
  lu_record_stream_clear (&self->inflated);
  lu_inflate_free (self->inflate);
  lu_perf_features_clear (&self->features);
  lu_perf_events_clear (&self->events);
  lu_fd_clear (&self->fd);
  g_free (self->name);
  g_free (self->trouble);
  g_free (self);
}

gssize
lu_perf_data_fill_from_file (gpointer data, guint8 *bytes, gsize room)
{
  LuPerfData *self = data;
  gsize size = (gsize) MIN (room, self->data_end - self->read_offset);
  gssize got;

  if (size == 0)
    return LU_FILL_END;
  got = lu_fd_pread_all (self->fd, bytes, size, (gint64) self->read_offset);
  if (got < 0)
    return LU_FILL_FAILED;
  self->read_offset += (guint64) got;
  return got == 0 ? LU_FILL_END : got;
}

gssize
lu_perf_data_fill_from_pipe (gpointer data, guint8 *bytes, gsize room)
{
  LuPerfData *self = data;
  struct pollfd pollfd = { .fd = self->fd, .events = POLLIN };
  gssize got;

  if (poll (&pollfd, 1, 0) <= 0)
    return LU_FILL_AGAIN;
  got = read (self->fd, bytes, room);
  if (got < 0)
    return errno == EINTR || errno == EAGAIN ? LU_FILL_AGAIN : LU_FILL_FAILED;
  return got;
}

gboolean
lu_perf_data_read_at (LuPerfData *self, guint64 offset, gpointer bytes, gsize size)
{
  return !self->is_pipe && offset <= G_MAXINT64
         && lu_fd_pread_all (self->fd, bytes, size, (gint64) offset) == (gssize) size;
}

void
lu_perf_data_wait (LuPerfData *self, int wake_fd, int timeout_ms)
{
  struct pollfd fds[] = { { .fd = wake_fd, .events = POLLIN },
                          { .fd = self->fd, .events = POLLIN } };

  if (self->is_pipe && !self->has_ended)
    poll (fds, G_N_ELEMENTS (fds), timeout_ms);
}

void
lu_perf_data_wait_at_start (LuPerfData *self)
{
  struct pollfd pollfd = { .fd = self->fd, .events = POLLIN };
  sigset_t none;

  sigemptyset (&none);
  if (self->is_pipe && !self->has_ended)
    ppoll (&pollfd, 1, NULL, &none);
}

static void
end (LuPerfData *self, const char *trouble, guint64 offset)
{
  self->has_ended = TRUE;
  if (trouble == NULL || self->trouble != NULL)
    return;
  self->trouble =
      g_strdup_printf (_ ("%s at byte %" PRIu64 ": reading stopped there"), _ (trouble), offset);
}

/* { header, attr, u64 ids[] } */
static void
take_attr (LuPerfData *self, LuCursor *record)
{
  guint32 size = 0;
  const guint8 *attr;

  if (lu_cursor_left (record) < LU_PERF_ATTR_SIZE_MIN
      || self->events.events->len >= LU_PERF_MAX_EVENTS)
    return;
  memcpy (&size, record->at + 4, sizeof size); /* attr.size */
  size = size == 0 ? LU_PERF_ATTR_SIZE_MIN : size;
  attr = lu_cursor_take (record, size);
  if (attr == NULL || size < LU_PERF_ATTR_SIZE_MIN)
    return;
  lu_perf_events_add (&self->events, attr, size, record);
}

/* { header, u64 feature, bytes } */
static void
take_feature (LuPerfData *self, LuCursor *record)
{
  guint64 feature = lu_cursor_u64 (record);

  if (record->failed || feature >= LU_PERF_N_FEATURES)
    return;
  lu_perf_features_read (&self->features, (guint) feature, record);
  lu_perf_events_set_names (&self->events, self->features.event_names);
}

static gboolean
take_compressed (LuPerfData *self, const LuRecordStream *stream, LuCursor *record,
                 gboolean has_size)
{
  g_autoptr (GError) error = NULL;
  guint64 size = has_size ? lu_cursor_u64 (record) : lu_cursor_left (record);
  const guint8 *bytes = lu_cursor_take (record, (gsize) MIN (size, G_MAXUINT16));

  if (self->inflate == NULL)
    self->inflate = lu_inflate_new (&error);
  if (bytes == NULL || self->inflate == NULL || stream == &self->inflated)
    {
      end (self, error != NULL ? error->message : "damaged compressed record", stream->offset);
      return FALSE;
    }
  if (self->inflated.fill == NULL)
    lu_record_stream_init (&self->inflated, lu_inflate_fill, self->inflate, 0);
  lu_inflate_feed (self->inflate, bytes, size);
  self->inflating = TRUE;
  return TRUE;
}

/* Handles one of perf's own records. Returns FALSE if reading cannot go on. */
static gboolean
take_own_record (LuPerfData *self, LuRecordStream *stream, const LuRawRecord *record)
{
  LuCursor cursor;

  lu_cursor_init (&cursor, record->bytes, record->size);
  if (record->type == HEADER_BUILD_ID)
    {
      lu_perf_features_read_build_id (&self->features, &cursor);
      return TRUE;
    }
  lu_cursor_take (&cursor, sizeof (struct perf_event_header));
  switch (record->type)
    {
    case HEADER_ATTR:
      take_attr (self, &cursor);
      return TRUE;
    case HEADER_FEATURE:
      take_feature (self, &cursor);
      return TRUE;
    case HEADER_TRACING_DATA: /* { header, u32 size }, then the data, padded to 8 */
      lu_record_stream_skip (stream, (lu_cursor_u32 (&cursor) + 7ull) & ~7ull);
      return TRUE;
    case AUXTRACE: /* { header, u64 size, … }, then the data */
      lu_record_stream_skip (stream, lu_cursor_u64 (&cursor));
      return TRUE;
    case COMPRESSED:
    case COMPRESSED2:
      return take_compressed (self, stream, &cursor, record->type == COMPRESSED2);
    default:
      return TRUE;
    }
}

/* The inflated records of a COMPRESSED record come before the record that follows it. */
static LuStreamResult
next_of_either (LuPerfData *self, LuRawRecord *record, LuRecordStream **stream)
{
  LuStreamResult result;

  if (self->inflating)
    {
      *stream = &self->inflated;
      result = lu_record_stream_next (*stream, record);
      if (result != LU_STREAM_AGAIN)
        return result;
      self->inflating = FALSE;
    }
  *stream = &self->records;
  return lu_record_stream_next (*stream, record);
}

static LuPerfResult
end_with (LuPerfData *self, LuStreamResult result, const LuRecordStream *stream)
{
  static const char *const troubles[] = {
    [LU_STREAM_CUT] = N_ ("the file ends inside a record"),
    [LU_STREAM_BROKEN] = N_ ("damaged record"),
    [LU_STREAM_FAILED] = N_ ("cannot be read (or inflated)"),
  };

  if (result == LU_STREAM_AGAIN)
    return LU_PERF_AGAIN;
  end (self, result < G_N_ELEMENTS (troubles) ? troubles[result] : NULL, stream->offset);
  return LU_PERF_END;
}

LuPerfResult
lu_perf_data_next (LuPerfData *self, LuRawRecord *record, gboolean *readable)
{
  while (!self->has_ended)
    {
      LuRecordStream *stream;
      LuStreamResult result = next_of_either (self, record, &stream);

      if (result != LU_STREAM_RECORD)
        return end_with (self, result, stream);
      *readable = stream == &self->records && !self->is_pipe;
      if (record->type < LU_RECORD_USER_FIRST || record->type == LU_PERF_FINISHED_ROUND)
        {
          lu_perf_events_sort (&self->events);
          return LU_PERF_RECORD;
        }
      if (!take_own_record (self, stream, record))
        break;
    }
  return LU_PERF_END;
}
