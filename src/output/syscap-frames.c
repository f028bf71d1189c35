/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-frames.c - frames of a Sysprof capture; see syscap-frames.h. */

#include "output/syscap-frames.h"

#include "lu/status.h"
#include "output/syscap-stack.h"

#include <string.h>

#define LOG_DOMAIN "live-unwinder"

/* Length of a text cut to `room` bytes, not inside a character. */
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

/* Adds a frame that ends in a text; *copied bytes of it and a NUL fit. */
static gpointer
add_with_text (LuSyscapWriter *writer, LuSyscapType type, gsize size, const char *text, gint32 pid,
               guint64 time, GError **error)
{
  gsize length = fitting_length (text, LU_SYSCAP_MAX_FRAME - size - 1);
  guint8 *frame = lu_syscap_writer_add (writer, type, size + length + 1, -1, pid, time, error);

  if (frame != NULL)
    memcpy (frame + size, text, length);
  return frame;
}

char *
lu_syscap_program_of (const char *command_line)
{
  g_autofree char *word = g_strndup (command_line, strcspn (command_line, " "));
  const char *slash = word[0] == '/' ? strrchr (word, '/') : NULL;

  return g_strdup (slash != NULL ? slash + 1 : word);
}

gboolean
lu_syscap_write_sample (LuSyscapWriter *writer, guint64 time, gint32 cpu, gint32 pid, gint32 tid,
                        const guint64 *addresses, guint n_addresses, GError **error)
{
  gsize size = sizeof (LuSyscapSampleFrame) + n_addresses * sizeof addresses[0];
  LuSyscapSampleFrame *frame =
      lu_syscap_writer_add (writer, LU_SYSCAP_SAMPLE, size, cpu, pid, time, error);

  if (frame == NULL)
    return FALSE;
  frame->n_addresses = (guint16) n_addresses;
  frame->tid = tid;
  memcpy ((guint8 *) frame + sizeof *frame, addresses, n_addresses * sizeof addresses[0]);
  return TRUE;
}

gboolean
lu_syscap_write_map (LuSyscapWriter *writer, gint32 pid, const LuSyscapMapping *mapping,
                     GError **error)
{
  const char *separator = strrchr (mapping->name, LU_SYSCAP_NAME_SEPARATOR);
  const char *tail = separator != NULL ? separator + 1 : "";
  gsize path_length =
      separator != NULL ? (gsize) (separator - mapping->name) : strlen (mapping->name);
  gsize tail_size = tail[0] == '@' ? strlen (tail) + 1 : 0;
  gsize size;
  LuSyscapMapFrame *frame;

  path_length = MIN (path_length, LU_SYSCAP_MAX_FRAME - sizeof *frame - 1 - tail_size);
  size = sizeof *frame + path_length + 1 + tail_size;
  frame = lu_syscap_writer_add (writer, LU_SYSCAP_MAP, size, -1, pid, mapping->time, error);
  if (frame == NULL)
    return FALSE;
  frame->start = mapping->start;
  frame->end = mapping->end;
  frame->file_offset = mapping->file_offset;
  frame->inode = tail[0] == '#' ? g_ascii_strtoull (tail + 1, NULL, 10) : 0;
  memcpy ((guint8 *) frame + sizeof *frame, mapping->name, path_length);
  memcpy ((guint8 *) frame + sizeof *frame + path_length + 1, tail, tail_size);
  return TRUE;
}

gboolean
lu_syscap_write_process (LuSyscapWriter *writer, guint64 time, gint32 pid, const char *command_line,
                         GError **error)
{
  return add_with_text (writer, LU_SYSCAP_PROCESS, sizeof (LuSyscapProcessFrame), command_line, pid,
                        time, error)
         != NULL;
}

gboolean
lu_syscap_write_fork (LuSyscapWriter *writer, guint64 time, gint32 pid, gint32 child_pid,
                      GError **error)
{
  LuSyscapForkFrame *frame =
      lu_syscap_writer_add (writer, LU_SYSCAP_FORK, sizeof *frame, -1, pid, time, error);

  if (frame == NULL)
    return FALSE;
  frame->child_pid = child_pid;
  return TRUE;
}

gboolean
lu_syscap_write_exit (LuSyscapWriter *writer, guint64 time, gint32 pid, GError **error)
{
  return lu_syscap_writer_add (writer, LU_SYSCAP_EXIT, sizeof (LuSyscapFrame), -1, pid, time, error)
         != NULL;
}

gboolean
lu_syscap_write_metadata (LuSyscapWriter *writer, const char *key, const char *text, GError **error)
{
  LuSyscapMetadataFrame *frame =
      add_with_text (writer, LU_SYSCAP_METADATA, sizeof *frame, text, -1, 0, error);

  if (frame == NULL)
    return FALSE;
  g_strlcpy (frame->key, key, sizeof frame->key);
  return TRUE;
}

gboolean
lu_syscap_write_log (LuSyscapWriter *writer, guint64 time, const char *message, GError **error)
{
  LuSyscapLogFrame *frame =
      add_with_text (writer, LU_SYSCAP_LOG, sizeof *frame, message, -1, time, error);

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
  LuSyscapJitmapFrame *frame =
      lu_syscap_writer_add (writer, LU_SYSCAP_JITMAP, sizeof *frame + names->len, -1, -1, 0, error);

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
  guint n_names = 1;

  for (guint status = 1; status < LU_N_STATUS; status++, n_names++)
    {
      g_autofree char *name = g_strdup_printf ("[%s]", lu_status_title ((LuStatus) status));

      append_name (names, LU_SYNTHETIC_BASE + status, name);
    }
  append_name (names, LU_SYSCAP_LEFT_OUT, LU_SYSCAP_LEFT_OUT_NAME);
  return write_names (writer, names, n_names, error);
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
lu_syscap_write_file (LuSyscapWriter *writer, const char *path, const char *bytes, gsize size,
                      gboolean is_last, GError **error)
{
  do
    {
      gsize length = MIN (size, LU_SYSCAP_MAX_CHUNK);
      LuSyscapFileChunkFrame *frame = lu_syscap_writer_add (
          writer, LU_SYSCAP_FILE_CHUNK, sizeof *frame + length, -1, -1, 0, error);

      if (frame == NULL)
        return FALSE;
      frame->is_last = is_last && length == size;
      frame->len = (guint16) length;
      g_strlcpy (frame->path, path, sizeof frame->path);
      memcpy (frame->bytes, bytes, length);
      bytes += length;
      size -= length;
    }
  while (size > 0);
  return TRUE;
}
