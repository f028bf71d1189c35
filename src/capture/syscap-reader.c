/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-reader.c - reads captures frame by frame; see syscap-reader.h.
 *
 * The bytes are read into a buffer, never mapped, because a file may be truncated while it is read.
 */

#include "syscap-reader.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "elf/file-digest.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>

#define BUFFER_SIZE (1024 * 1024)

struct _LuSyscapReader
{
  int fd;         /* -1: everything is in `bytes` */
  guint8 *buffer; /* owned; NULL without a descriptor */
  const guint8 *bytes;
  gsize at, size; /* size of `bytes` */
  guint64 offset; /* of the frame at `at`, in the file */
  gboolean at_eof, is_cut, is_finished;
  LuSyscapHeader header;
  GArray *names;     /* of LuSyscapJitName */
  GArray *addresses; /* of guint64: aligned copies */
  GArray *counters;  /* of LuSyscapCounter */
  GArray *values;    /* of LuSyscapCounterValue */
  char key[sizeof ((LuSyscapMetadataFrame *) NULL)->key + 1];
  char path[sizeof ((LuSyscapFileChunkFrame *) NULL)->path + 1];
};

/* Makes `size` bytes available at `at`, or all that the file has. Fails only on a read error. */
static gboolean
fill (LuSyscapReader *self, gsize size, GError **error)
{
  if (self->fd < 0 || self->at_eof || self->size - self->at >= size)
    return TRUE;
  memmove (self->buffer, self->buffer + self->at, self->size - self->at);
  self->size -= self->at;
  self->at = 0;
  while (self->size < BUFFER_SIZE)
    {
      gssize n = read (self->fd, self->buffer + self->size, BUFFER_SIZE - self->size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("cannot read the capture: %s"),
                       g_strerror (errno));
          return FALSE;
        }
      if (n == 0)
        {
          self->at_eof = TRUE;
          break;
        }
      self->size += (gsize) n;
    }
  return TRUE;
}

static void
consume (LuSyscapReader *self, gsize size)
{
  self->at += size;
  self->offset += size;
}

static gboolean
read_header (LuSyscapReader *self, GError **error)
{
  const LuSyscapHeader *header = &self->header;

  if (!fill (self, sizeof *header, error))
    return FALSE;
  if (self->size - self->at >= sizeof *header)
    memcpy (&self->header, self->bytes + self->at, sizeof *header);
  if (header->magic != LU_SYSCAP_MAGIC || (header->version_and_flags & 0xff) != LU_SYSCAP_VERSION
      || !(header->version_and_flags & LU_SYSCAP_LITTLE_ENDIAN))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                           _ ("not a Sysprof capture of a little-endian machine"));
      return FALSE;
    }
  consume (self, sizeof *header);
  return TRUE;
}

static LuSyscapReader *
reader_new (void)
{
  LuSyscapReader *self = g_new0 (LuSyscapReader, 1);

  self->fd = -1;
  self->names = g_array_new (FALSE, FALSE, sizeof (LuSyscapJitName));
  self->addresses = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->counters = g_array_new (FALSE, FALSE, sizeof (LuSyscapCounter));
  self->values = g_array_new (FALSE, FALSE, sizeof (LuSyscapCounterValue));
  return self;
}

LuSyscapReader *
lu_syscap_reader_new (int fd, GError **error)
{
  g_autoptr (LuSyscapReader) self = reader_new ();

  self->fd = fd;
  self->buffer = g_malloc (BUFFER_SIZE);
  self->bytes = self->buffer;
  return read_header (self, error) ? g_steal_pointer (&self) : NULL;
}

LuSyscapReader *
lu_syscap_reader_new_from_bytes (gconstpointer bytes, gsize size, GError **error)
{
  g_autoptr (LuSyscapReader) self = reader_new ();

  self->bytes = bytes;
  self->size = size;
  return read_header (self, error) ? g_steal_pointer (&self) : NULL;
}

void
lu_syscap_reader_refill (LuSyscapReader *self, gconstpointer bytes, gsize size)
{
  self->bytes = bytes;
  self->at = 0;
  self->size = size;
  self->is_finished = FALSE;
}

void
lu_syscap_reader_free (LuSyscapReader *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->fd);
  g_free (self->buffer);
  g_array_unref (self->names);
  g_array_unref (self->addresses);
  g_array_unref (self->counters);
  g_array_unref (self->values);
  g_free (self);
}

const LuSyscapHeader *
lu_syscap_reader_header (const LuSyscapReader *self)
{
  return &self->header;
}

gboolean
lu_syscap_reader_is_cut (const LuSyscapReader *self)
{
  return self->is_cut;
}

gboolean
lu_syscap_parse_thread (const char *text, LuSyscapThread *thread)
{
  char *end;

  thread->pid = (gint32) g_ascii_strtoll (text, &end, 10);
  if (*end != ' ')
    return FALSE;
  thread->tid = (gint32) g_ascii_strtoll (end + 1, &end, 10);
  thread->name = end + 1;
  return *end == ' ';
}

static void
decode_sample (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  guint n = lu_cursor_u16 (cursor);
  const guint8 *addresses;

  record->sample.event = lu_cursor_u16 (cursor);
  record->sample.tid = (gint32) lu_cursor_u32 (cursor);
  addresses = lu_cursor_take (cursor, n * sizeof (guint64));
  if (addresses == NULL)
    return;
  g_array_set_size (self->addresses, n);
  if (n > 0)
    memcpy (self->addresses->data, addresses, n * sizeof (guint64));
  record->sample.n_addresses = n;
  record->sample.addresses = (const guint64 *) (gpointer) self->addresses->data;
}

/* Takes all three numbers or none. */
static void
decode_inode (const char *text, LuFileId *file)
{
  const char *end = text + strlen (text);
  guint64 numbers[3];

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++, text++)
    {
      gsize n = lu_hex_read_number (text, end, &numbers[i]);

      text += n;
      if (n == 0 || *text != (i < 2 ? ':' : '\0'))
        return;
    }
  file->device = numbers[0];
  file->inode = numbers[1];
  file->inode_generation = numbers[2];
}

/* Returns the digest, or NULL if it is none. */
static const char *
checked_digest (const char *text)
{
  gsize n = strspn (text, LU_HEX_DIGITS);

  return n == 2 * LU_FILE_DIGEST_SIZE && text[n] == '\0' ? text : NULL;
}

/* Returns whether a text with this mark follows, and skips the mark. */
static gboolean
skip_mark (LuCursor *cursor, char mark)
{
  return lu_cursor_left (cursor) > 1 && cursor->at[0] == mark && lu_cursor_take (cursor, 1) != NULL;
}

static void
decode_map (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  record->map.start = lu_cursor_u64 (cursor);
  record->map.end = lu_cursor_u64 (cursor);
  record->map.file_offset = lu_cursor_u64 (cursor);
  record->map.file = (LuFileId){ .inode = lu_cursor_u64 (cursor) };
  record->map.file.path = lu_cursor_string (cursor);
  if (record->map.start > record->map.end)
    cursor->failed = TRUE;
  if (skip_mark (cursor, '@'))
    record->map.file.build_id = lu_cursor_string (cursor);
  if (skip_mark (cursor, '#'))
    decode_inode (lu_cursor_string (cursor), &record->map.file);
  if (skip_mark (cursor, '='))
    record->map.file.digest = checked_digest (lu_cursor_string (cursor));
}

static void
decode_jitmap (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  guint n = lu_cursor_u32 (cursor);

  g_array_set_size (self->names, 0);
  for (guint i = 0; i < n && !cursor->failed; i++)
    {
      LuSyscapJitName name = { .address = lu_cursor_u64 (cursor) };

      name.name = lu_cursor_string (cursor);
      g_array_append_val (self->names, name);
    }
  record->jitmap.n_names = self->names->len;
  record->jitmap.names = (const LuSyscapJitName *) (gpointer) self->names->data;
}

/* Reads a text in a field of fixed size, which need not end in NUL. */
static const char *
take_field (LuCursor *cursor, char *copy, gsize size)
{
  const guint8 *field = lu_cursor_take (cursor, size);

  if (field == NULL)
    return "";
  memcpy (copy, field, size);
  copy[size] = 0;
  return copy;
}

static void
decode_counters (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  guint n = lu_cursor_u16 (cursor);

  lu_cursor_take (cursor, 6);
  g_array_set_size (self->counters, 0);
  for (guint i = 0; i < n && !cursor->failed; i++)
    {
      LuSyscapCounter counter;
      guint32 id_and_type;

      take_field (cursor, counter.category, sizeof counter.category - 1);
      take_field (cursor, counter.name, sizeof counter.name - 1);
      take_field (cursor, counter.description, sizeof counter.description - 1);
      id_and_type = lu_cursor_u32 (cursor);
      counter.id = id_and_type & 0xffffff;
      counter.is_real = id_and_type >> 24 == 1;
      lu_cursor_u64 (cursor);
      if (!cursor->failed)
        g_array_append_val (self->counters, counter);
    }
  record->ctrdef.n = self->counters->len;
  record->ctrdef.counters = (const LuSyscapCounter *) (gpointer) self->counters->data;
}

static void
decode_values (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  guint n = lu_cursor_u16 (cursor);

  lu_cursor_take (cursor, 6);
  g_array_set_size (self->values, 0);
  for (guint i = 0; i < n && !cursor->failed; i++)
    {
      LuSyscapCtrsetGroup group;
      const guint8 *bytes = lu_cursor_take (cursor, sizeof group);

      if (bytes == NULL)
        break;
      memcpy (&group, bytes, sizeof group);
      for (guint k = 0; k < LU_SYSCAP_CTRSET_GROUP; k++)
        if (group.ids[k] != 0)
          {
            const LuSyscapCounterValue value = { group.ids[k], group.values[k] };

            g_array_append_val (self->values, value);
          }
    }
  record->ctrset.n = self->values->len;
  record->ctrset.values = (const LuSyscapCounterValue *) (gpointer) self->values->data;
}

static void
decode_metadata (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  record->metadata.key = take_field (cursor, self->key, sizeof self->key - 1);
  record->metadata.text = lu_cursor_string (cursor);
}

static void
decode_log (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  record->log.severity = lu_cursor_u16 (cursor);
  lu_cursor_take (cursor, 6);
  record->log.domain = take_field (cursor, self->key, sizeof ((LuSyscapLogFrame *) NULL)->domain);
  record->log.message = lu_cursor_string (cursor);
}

static void
decode_file (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  record->file.is_last = lu_cursor_u8 (cursor) & 1;
  lu_cursor_u8 (cursor);
  record->file.size = lu_cursor_u16 (cursor);
  record->file.path = take_field (cursor, self->path, sizeof self->path - 1);
  record->file.bytes = lu_cursor_take (cursor, record->file.size);
}

static gboolean
decode (LuSyscapReader *self, LuCursor *cursor, LuSyscapRecord *record)
{
  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      decode_sample (self, cursor, record);
      break;
    case LU_SYSCAP_MAP:
      decode_map (self, cursor, record);
      break;
    case LU_SYSCAP_PROCESS:
      record->process.command_line = lu_cursor_string (cursor);
      break;
    case LU_SYSCAP_FORK:
      record->fork.child_pid = (gint32) lu_cursor_u32 (cursor);
      break;
    case LU_SYSCAP_JITMAP:
      decode_jitmap (self, cursor, record);
      break;
    case LU_SYSCAP_CTRDEF:
      decode_counters (self, cursor, record);
      break;
    case LU_SYSCAP_CTRSET:
      decode_values (self, cursor, record);
      break;
    case LU_SYSCAP_METADATA:
      decode_metadata (self, cursor, record);
      break;
    case LU_SYSCAP_LOG:
      decode_log (self, cursor, record);
      break;
    case LU_SYSCAP_FILE_CHUNK:
      decode_file (self, cursor, record);
      break;
    default:
      break;
    }
  return !cursor->failed;
}

static LuSyscapRead
finish (LuSyscapReader *self, gboolean is_cut)
{
  self->is_finished = TRUE;
  self->is_cut = is_cut;
  return LU_SYSCAP_READ_END;
}

static LuSyscapRead
fail (LuSyscapReader *self, const char *what, GError **error)
{
  self->is_finished = TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("the capture is damaged at offset %" PRIu64 ": %s"), self->offset, what);
  return LU_SYSCAP_READ_ERROR;
}

LuSyscapRead
lu_syscap_reader_next (LuSyscapReader *self, LuSyscapRecord *record, GError **error)
{
  LuSyscapFrame frame;
  LuCursor cursor;
  gsize left;

  if (self->is_finished)
    return LU_SYSCAP_READ_END;
  if (!fill (self, LU_SYSCAP_MAX_FRAME, error))
    {
      self->is_finished = TRUE;
      return LU_SYSCAP_READ_ERROR;
    }
  left = self->size - self->at;
  if (left < sizeof frame)
    return finish (self, left > 0);
  memcpy (&frame, self->bytes + self->at, sizeof frame);
  if (frame.len < sizeof frame || frame.len % LU_SYSCAP_ALIGN != 0)
    return fail (self, _ ("a frame's length is wrong"), error);
  if (frame.len > left)
    return finish (self, TRUE);

  memset (record, 0, sizeof *record);
  record->type = frame.type;
  record->cpu = frame.cpu;
  record->pid = frame.pid;
  record->time = frame.time;
  if (frame.type == LU_SYSCAP_SAMPLE)
    memcpy (&record->sample.weight, frame.padding, sizeof frame.padding);
  lu_cursor_init (&cursor, self->bytes + self->at, frame.len);
  lu_cursor_take (&cursor, sizeof frame);
  if (!decode (self, &cursor, record))
    return fail (self, _ ("a frame is shorter than its contents"), error);
  consume (self, frame.len);
  return LU_SYSCAP_READ_FRAME;
}
