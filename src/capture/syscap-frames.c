/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-frames.c - frames of a Sysprof capture; see syscap-frames.h. */

#include "syscap-frames.h"

#include "syscap-counters.h"
#include "syscap-stack.h"

#define LOG_DOMAIN "live-unwinder"

/* Returns the length of a text that is cut to `room` bytes, but not inside a character. */
static gsize
fitting_length (const char *text, gsize room)
{
  gsize length = strlen (text);

  if (length <= room)
    return length;
  while (room > 0 && ((guchar) text[room] & 0xc0) == 0x80)
    room--;
  return room;
}

/* Appends a frame of `size` bytes that is followed by a text. */
static gpointer
add_with_text (LuSyscapWriter *writer, const LuSyscapHead *head, gsize size, const char *text,
               GError **error)
{
  gsize length = fitting_length (text, LU_SYSCAP_MAX_FRAME - size - 1);
  guint8 *frame = lu_syscap_writer_add (writer, head, size + length + 1, error);

  if (frame != NULL)
    memcpy (frame + size, text, length);
  return frame;
}

gboolean
lu_syscap_write_sample (LuSyscapWriter *writer, const LuSyscapHead *head,
                        const LuSyscapSample *sample, GError **error)
{
  const LuSyscapHead of_sample = { LU_SYSCAP_SAMPLE, head->cpu, head->pid, head->time };
  gsize addresses_size = sample->n_addresses * sizeof sample->addresses[0];
  guint64 weight = MIN (sample->weight, LU_SYSCAP_MAX_WEIGHT);
  LuSyscapSampleFrame *frame =
      lu_syscap_writer_add (writer, &of_sample, sizeof *frame + addresses_size, error);

  if (frame == NULL)
    return FALSE;
  memcpy (frame->frame.padding, &weight, sizeof frame->frame.padding);
  frame->n_addresses = (guint16) sample->n_addresses;
  frame->event = (guint16) sample->event;
  frame->tid = sample->tid;
  memcpy ((guint8 *) frame + sizeof *frame, sample->addresses, addresses_size);
  return TRUE;
}

/* Returns what follows the path and its NUL. */
static GString *
map_tail (const LuFileId *file)
{
  GString *tail = g_string_new (NULL);

  if (file->build_id != NULL)
    g_string_append_printf (tail, "@%s%c", file->build_id, 0);
  if (file->device != 0 || (file->build_id != NULL && file->inode != 0))
    g_string_append_printf (
        tail, "#%" G_GINT64_MODIFIER "x:%" G_GINT64_MODIFIER "x:%" G_GINT64_MODIFIER "x%c",
        file->device, file->inode, file->inode_generation, 0);
  if (file->digest != NULL)
    g_string_append_printf (tail, "=%s%c", file->digest, 0);
  return tail;
}

gboolean
lu_syscap_write_map (LuSyscapWriter *writer, gint32 pid, const LuSyscapMapping *mapping,
                     GError **error)
{
  const LuFileId *file = mapping->file;
  gsize path_length = strlen (file->path);
  g_autoptr (GString) tail = map_tail (file);
  gsize size;
  LuSyscapMapFrame *frame;
  guint8 *text;

  path_length = MIN (path_length, LU_SYSCAP_MAX_FRAME - sizeof *frame - 1 - tail->len);
  size = sizeof *frame + path_length + 1 + tail->len;
  frame = lu_syscap_writer_add (writer, &(LuSyscapHead){ LU_SYSCAP_MAP, -1, pid, mapping->time },
                                size, error);
  if (frame == NULL)
    return FALSE;
  frame->start = mapping->start;
  frame->end = mapping->end;
  frame->file_offset = mapping->file_offset;
  frame->inode = file->build_id == NULL ? file->inode : 0;
  text = (guint8 *) frame + sizeof *frame;
  memcpy (text, file->path, path_length);
  memcpy (text + path_length + 1, tail->str, tail->len);
  return TRUE;
}

gboolean
lu_syscap_write_process (LuSyscapWriter *writer, guint64 time, gint32 pid, const LuLabels *labels,
                         GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_PROCESS, -1, pid, time };

  return add_with_text (writer, &head, sizeof (LuSyscapProcessFrame), labels->command_line, error)
         != NULL;
}

gboolean
lu_syscap_write_fork (LuSyscapWriter *writer, guint64 time, gint32 pid, gint32 child_pid,
                      GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_FORK, -1, pid, time };
  LuSyscapForkFrame *frame = lu_syscap_writer_add (writer, &head, sizeof *frame, error);

  if (frame == NULL)
    return FALSE;
  frame->child_pid = child_pid;
  return TRUE;
}

gboolean
lu_syscap_write_exit (LuSyscapWriter *writer, guint64 time, gint32 pid, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_EXIT, -1, pid, time };

  return lu_syscap_writer_add (writer, &head, sizeof (LuSyscapFrame), error) != NULL;
}

gboolean
lu_syscap_write_metadata (LuSyscapWriter *writer, const char *key, const char *text, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_METADATA, -1, -1, 0 };
  LuSyscapMetadataFrame *frame = add_with_text (writer, &head, sizeof *frame, text, error);

  if (frame == NULL)
    return FALSE;
  g_strlcpy (frame->key, key, sizeof frame->key);
  return TRUE;
}

gboolean
lu_syscap_write_log (LuSyscapWriter *writer, guint64 time, const char *message, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_LOG, -1, -1, time };
  LuSyscapLogFrame *frame = add_with_text (writer, &head, sizeof *frame, message, error);

  if (frame == NULL)
    return FALSE;
  frame->severity = G_LOG_LEVEL_MESSAGE;
  g_strlcpy (frame->domain, LOG_DOMAIN, sizeof frame->domain);
  return TRUE;
}

static void
append_name (GByteArray *names, guint64 address, const char *name)
{
  g_byte_array_append (names, (const guint8 *) &address, sizeof address);
  g_byte_array_append (names, (const guint8 *) name, (guint) strlen (name) + 1);
}

static gboolean
write_names (LuSyscapWriter *writer, const GByteArray *names, guint n_names, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_JITMAP, -1, -1, 0 };
  LuSyscapJitmapFrame *frame =
      lu_syscap_writer_add (writer, &head, sizeof *frame + names->len, error);

  if (frame == NULL)
    return FALSE;
  frame->n_names = n_names;
  memcpy (frame->names, names->data, names->len);
  return TRUE;
}

gboolean
lu_syscap_write_jitmap (LuSyscapWriter *writer, GError **error)
{
  g_autoptr (GByteArray) names = g_byte_array_new ();

  /* The marker takes the place of "complete", which needs no name. */
  for (guint status = 1; status <= LU_N_STATUS; status++)
    {
      guint64 address = status < LU_N_STATUS ? LU_SYNTHETIC_BASE + status : LU_SYSCAP_LEFT_OUT;
      g_autofree char *name = lu_syscap_synthetic_name (address);

      append_name (names, address, name);
    }
  return write_names (writer, names, LU_N_STATUS, error);
}

gboolean
lu_syscap_write_jit_names (LuSyscapWriter *writer, const LuSyscapJitName *source, guint n_names,
                           GError **error)
{
  g_autoptr (GByteArray) names = g_byte_array_new ();

  for (guint i = 0; i < n_names; i++)
    append_name (names, source[i].address, source[i].name);
  return n_names == 0 || sizeof (LuSyscapJitmapFrame) + names->len > LU_SYSCAP_MAX_FRAME
         || write_names (writer, names, n_names, error);
}

gboolean
lu_syscap_write_file (LuSyscapWriter *writer, const LuSyscapFile *file, GError **error)
{
  const LuSyscapHead head = { LU_SYSCAP_FILE_CHUNK, -1, -1, 0 };
  gsize done = 0;

  do
    {
      gsize length = MIN (file->size - done, LU_SYSCAP_MAX_CHUNK);
      LuSyscapFileChunkFrame *frame =
          lu_syscap_writer_add (writer, &head, sizeof *frame + length, error);

      if (frame == NULL)
        return FALSE;
      frame->is_last = file->is_last && done + length == file->size;
      frame->len = (guint16) length;
      g_strlcpy (frame->path, file->path, sizeof frame->path);
      memcpy (frame->bytes, file->bytes + done, length);
      done += length;
    }
  while (done < file->size);
  return TRUE;
}

/* Hexadecimal digits; real build-ids have at most 64. */
#define MAX_BUILD_ID 512

static gboolean
copy_map (LuSyscapWriter *writer, const LuSyscapRecord *record, GError **error)
{
  LuFileId file = record->map.file;
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset,
                              .time = (guint64) record->time,
                              .file = &file };

  if (file.build_id != NULL && strlen (file.build_id) > MAX_BUILD_ID)
    file.build_id = NULL;
  return lu_syscap_write_map (writer, record->pid, &mapping, error);
}

gboolean
lu_syscap_copy_frame (LuSyscapWriter *writer, const LuSyscapRecord *record, GError **error)
{
  guint64 time = (guint64) MAX (record->time, 0);

  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      return lu_syscap_write_sample (
          writer, &(LuSyscapHead){ .cpu = record->cpu, .pid = record->pid, .time = time },
          &record->sample, error);
    case LU_SYSCAP_MAP:
      return copy_map (writer, record, error);
    case LU_SYSCAP_PROCESS:
      return lu_syscap_write_process (writer, time, record->pid, &record->process, error);
    case LU_SYSCAP_FORK:
      return lu_syscap_write_fork (writer, time, record->pid, record->fork.child_pid, error);
    case LU_SYSCAP_EXIT:
      return lu_syscap_write_exit (writer, time, record->pid, error);
    case LU_SYSCAP_JITMAP:
      return lu_syscap_write_jit_names (writer, record->jitmap.names, record->jitmap.n_names,
                                        error);
    case LU_SYSCAP_CTRDEF:
      return lu_syscap_write_counters (writer, time, record->ctrdef.counters, record->ctrdef.n,
                                       error);
    case LU_SYSCAP_CTRSET:
      return lu_syscap_write_values (writer, time, record->ctrset.values, record->ctrset.n, error);
    case LU_SYSCAP_METADATA:
      return lu_syscap_write_metadata (writer, record->metadata.key, record->metadata.text, error);
    case LU_SYSCAP_LOG:
      return lu_syscap_write_log (writer, time, record->log.message, error);
    case LU_SYSCAP_FILE_CHUNK:
      return lu_syscap_write_file (writer, &record->file, error);
    default:
      return TRUE;
    }
}
