/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-data-open.c - reads the parts of a perf.data file or pipe before and after its records.
 *
 *   file:  "PERFILE2" u64 size=104  u64 attr_size  {attrs} {data} {event_types}  256 feature bits
 *          attrs: { attr, {ids} } x n     data: records     then {offset, size} per feature bit
 *   pipe:  "PERFILE2" u64 size=16, then records; events and features are records too
 *
 * A section is { u64 offset, u64 size }. If the writer was killed, data.size is 0, because it is
 * written last: the records then extend to the end of the file, and there are no features. */

#include "input/perf-data.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <sys/stat.h>

enum
{
  HEADER_SIZE = 104,
  PIPE_HEADER_SIZE = 16,
  ATTR_SIZE_MAX = 4096,
  SECTION_SIZE = 16,
  MAX_FEATURE_SIZE = 16 << 20, /* the build-ids of 100,000 files */
};

typedef struct
{
  guint64 offset, size;
} Section;

static gboolean G_GNUC_PRINTF (3, 4)
    refuse (const LuPerfData *self, GError **error, const char *format, ...)
{
  g_autofree char *why = NULL;
  va_list args;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, "%s: %s", self->name, why);
  return FALSE;
}

static gboolean
is_inside (const LuPerfData *self, Section section)
{
  return section.offset <= self->file_size && section.size <= self->file_size - section.offset;
}

static guint8 *
read_section (LuPerfData *self, Section section, gsize limit)
{
  g_autofree guint8 *bytes = NULL;

  if (!is_inside (self, section) || section.size > limit)
    return NULL;
  bytes = g_malloc (MAX (section.size, 1));
  if (!lu_perf_data_read_at (self, section.offset, bytes, section.size))
    return NULL;
  return g_steal_pointer (&bytes);
}

static Section
read_section_header (LuCursor *cursor)
{
  Section section;

  section.offset = lu_cursor_u64 (cursor);
  section.size = lu_cursor_u64 (cursor);
  return section;
}

static gboolean
read_event (LuPerfData *self, LuCursor *entry, gsize attr_size, GError **error)
{
  const guint8 *attr = lu_cursor_take (entry, attr_size);
  Section ids = read_section_header (entry);
  g_autofree guint8 *bytes =
      read_section (self, ids, lu_perf_events_get_room (&self->events) * 8ull);
  LuCursor cursor;

  if (entry->failed || bytes == NULL)
    return refuse (self, error, _ ("damaged: the list of event ids lies outside of the file"));
  lu_cursor_init (&cursor, bytes, ids.size);
  lu_perf_events_add (&self->events, attr, attr_size, &cursor);
  return TRUE;
}

static gboolean
read_events (LuPerfData *self, Section section, guint64 entry_size, GError **error)
{
  g_autofree guint8 *bytes = NULL;
  LuCursor cursor;

  if (entry_size < LU_PERF_ATTR_SIZE_MIN + SECTION_SIZE
      || entry_size > ATTR_SIZE_MAX + SECTION_SIZE)
    return refuse (self, error, _ ("damaged: event attributes of %" PRIu64 " bytes"), entry_size);
  bytes = read_section (self, section, LU_PERF_MAX_EVENTS * entry_size);
  if (bytes == NULL)
    return refuse (self, error, _ ("damaged: the event attributes lie outside of the file"));
  lu_cursor_init (&cursor, bytes, section.size);
  while (lu_cursor_left (&cursor) >= entry_size)
    if (!read_event (self, &cursor, entry_size - SECTION_SIZE, error))
      return FALSE;
  return TRUE;
}

static void
read_features (LuPerfData *self, guint64 table, const guint8 *bits)
{
  for (guint feature = 0; feature < LU_PERF_N_FEATURES; feature++)
    {
      Section where = { .offset = table, .size = SECTION_SIZE }, section;
      g_autofree guint8 *entry = NULL, *bytes = NULL;
      LuCursor cursor;

      if (!(bits[feature / 8] & (1u << (feature % 8))))
        continue;
      table += SECTION_SIZE;
      if (!lu_perf_features_wants (feature))
        continue;
      entry = read_section (self, where, SECTION_SIZE);
      if (entry == NULL)
        return;
      lu_cursor_init (&cursor, entry, SECTION_SIZE);
      section = read_section_header (&cursor);
      bytes = read_section (self, section, MAX_FEATURE_SIZE);
      if (bytes == NULL)
        continue;
      lu_cursor_init (&cursor, bytes, section.size);
      lu_perf_features_read (&self->features, feature, &cursor);
    }
  lu_perf_events_set_names (&self->events, self->features.event_names);
}

static gboolean
start_records (LuPerfData *self, Section data, GError **error)
{
  if (data.offset > self->file_size)
    return refuse (self, error, _ ("cut off before its records"));
  self->read_offset = data.offset;
  self->data_end = self->file_size;
  if (data.size == 0 && self->file_size > data.offset)
    self->trouble =
        g_strdup ("perf did not finish the file (was it killed?): its last records and the "
                  "descriptions after them are missing");
  else if (is_inside (self, data))
    self->data_end = data.offset + data.size;
  else
    self->trouble = g_strdup (_ ("the file is cut off: records are missing at its end"));
  lu_record_stream_init (&self->records, lu_perf_data_fill_from_file, self, data.offset);
  return TRUE;
}

static gboolean
open_file (LuPerfData *self, LuCursor *header, GError **error)
{
  guint64 attr_size = lu_cursor_u64 (header);
  Section attrs = read_section_header (header);
  Section data = read_section_header (header);
  const guint8 *bits;

  read_section_header (header); /* event types, written by perf before 3.9 */
  bits = lu_cursor_take (header, LU_PERF_N_FEATURES / 8);
  if (bits == NULL)
    return refuse (self, error, _ ("cut off inside its header"));
  if (!read_events (self, attrs, attr_size, error) || !start_records (self, data, error))
    return FALSE;
  if (data.size > 0 && is_inside (self, data))
    read_features (self, data.offset + data.size, bits);
  if (self->features.is_directory)
    return refuse (
        self, error,
        "recorded with --threads: its records lie in the other files of the directory, which "
        "cannot be read yet; record without --threads");
  if (self->events.events->len == 0)
    return refuse (self, error, _ ("describes no event"));
  return TRUE;
}

static gboolean
check_magic (LuPerfData *self, const guint8 *bytes, gsize size, GError **error)
{
  if (size >= 8 && memcmp (bytes, "2ELIFREP", 8) == 0)
    return refuse (self, error, _ ("was recorded on a machine with the other byte order"));
  if (size >= 8 && memcmp (bytes, "PERFFILE", 8) == 0)
    return refuse (self, error, _ ("is in the format of perf before Linux 2.6.32"));
  if (size < PIPE_HEADER_SIZE || memcmp (bytes, "PERFILE2", 8) != 0)
    return refuse (self, error, _ ("not a perf.data file"));
  return TRUE;
}

static gboolean
open_seekable (LuPerfData *self, GError **error)
{
  guint8 bytes[HEADER_SIZE];
  gssize got = lu_fd_pread_all (self->fd, bytes, sizeof bytes, 0);
  guint64 header_size;
  LuCursor cursor;

  if (got < 0)
    return refuse (self, error, "%s", g_strerror (errno));
  if (!check_magic (self, bytes, (gsize) got, error))
    return FALSE;
  lu_cursor_init (&cursor, bytes, (gsize) got);
  lu_cursor_take (&cursor, 8);
  header_size = lu_cursor_u64 (&cursor);
  if (header_size == PIPE_HEADER_SIZE) /* the output of `perf record -o -` was saved to a file */
    {
      self->read_offset = PIPE_HEADER_SIZE;
      self->data_end = self->file_size;
      lu_record_stream_init (&self->records, lu_perf_data_fill_from_file, self, PIPE_HEADER_SIZE);
      return TRUE;
    }
  if (header_size != HEADER_SIZE)
    return refuse (self, error, _ ("has a header of unknown size"));
  return open_file (self, &cursor, error);
}

/* Blocks only for the first bytes. */
static gboolean
open_pipe (LuPerfData *self, GError **error)
{
  guint8 bytes[PIPE_HEADER_SIZE];
  guint64 header_size;
  gsize size = 0;

  while (size < sizeof bytes)
    {
      gssize got;

      lu_perf_data_wait_at_start (self);
      got = read (self->fd, bytes + size, sizeof bytes - size);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return refuse (self, error, "%s", g_strerror (errno));
      if (got == 0)
        break;
      size += (gsize) got;
    }
  if (!check_magic (self, bytes, size, error))
    return FALSE;
  memcpy (&header_size, bytes + 8, 8);
  if (header_size != PIPE_HEADER_SIZE)
    return refuse (
        self, error,
        "a perf.data file cannot be read through a pipe; give its name, or pipe the output of "
        "`perf record -o -`");
  lu_record_stream_init (&self->records, lu_perf_data_fill_from_pipe, self, PIPE_HEADER_SIZE);
  return TRUE;
}

static gboolean
open_any (LuPerfData *self, GError **error)
{
  struct stat st;

  if (fstat (self->fd, &st) < 0)
    return refuse (self, error, "%s", g_strerror (errno));
  if (S_ISDIR (st.st_mode))
    return refuse (
        self, error,
        "is a directory (perf record --threads), which cannot be read yet; record without "
        "--threads");
  if (isatty (self->fd))
    return refuse (
        self, error,
        "is a terminal; pipe the output of `perf record --call-graph dwarf -o -` into it");
  self->is_pipe = !S_ISREG (st.st_mode);
  if (self->is_pipe)
    return open_pipe (self, error);
  self->file_size = (guint64) st.st_size;
  return open_seekable (self, error);
}

LuPerfData *
lu_perf_data_new_for_fd (int fd, const char *name, GError **error)
{
  g_autoptr (LuPerfData) self = g_new0 (LuPerfData, 1);

  self->fd = fd;
  self->name = g_strdup (name);
  lu_perf_events_init (&self->events);
  lu_perf_features_init (&self->features);
  if (!open_any (self, error))
    return NULL;
  if (self->features.is_compressed && (self->inflate = lu_inflate_new (error)) == NULL)
    {
      g_prefix_error (error, "%s: ", self->name);
      return NULL;
    }
  lu_perf_events_sort (&self->events);
  return g_steal_pointer (&self);
}
