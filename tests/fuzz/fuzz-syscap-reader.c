/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-syscap-reader.c - the capture reader over arbitrary bytes: it ends, every byte that it lends
 * can be read, it reads the same from memory and from a file, and its mappings keep their rules. */

#include "fuzz.h"
#include "capture/syscap-maps.h"
#include "capture/syscap-reader.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum
{
  FILE_MAX = 1 << 20,
};

static guint64
sum_text (const char *text)
{
  return strlen (text);
}

/* Touches every byte that a record lends. */
static guint64
sum_record (const LuSyscapRecord *record)
{
  guint64 sum = record->type + (guint64) record->time + (guint64) record->pid;

  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      for (guint i = 0; i < record->sample.n_addresses; i++)
        sum += record->sample.addresses[i];
      break;
    case LU_SYSCAP_MAP:
      sum += record->map.start + record->map.end + sum_text (record->map.file.path);
      sum += record->map.file.build_id != NULL ? sum_text (record->map.file.build_id) : 0;
      break;
    case LU_SYSCAP_PROCESS:
      sum += sum_text (record->process.command_line);
      break;
    case LU_SYSCAP_JITMAP:
      for (guint i = 0; i < record->jitmap.n_names; i++)
        sum += record->jitmap.names[i].address + sum_text (record->jitmap.names[i].name);
      break;
    case LU_SYSCAP_METADATA:
      sum += sum_text (record->metadata.key) + sum_text (record->metadata.text);
      break;
    case LU_SYSCAP_LOG:
      sum += sum_text (record->log.domain) + sum_text (record->log.message);
      break;
    case LU_SYSCAP_FILE_CHUNK:
      sum += sum_text (record->file.path);
      for (guint i = 0; i < record->file.size; i++)
        sum += record->file.bytes[i];
      break;
    default:
      break;
    }
  return sum;
}

static gboolean
check_frame (const LuSyscapMapping *mapping, gpointer user_data, GError **error)
{
  g_assert_cmpuint (mapping->start, <, mapping->end);
  ++*(guint *) user_data;
  return TRUE;
}

static void
put_map (LuSyscapMaps *maps, const LuSyscapRecord *record)
{
  static LuFileId file = { .path = "x" };
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset,
                              .time = (guint64) record->time,
                              .module_id = (guint32) record->map.file.inode,
                              .file = &file };
  guint n_frames = 0;
  LuSyscapMapsOutput output = { .emit = check_frame, .user_data = &n_frames };

  lu_syscap_maps_add (maps, &mapping, &output, NULL);
  g_assert_true (mapping.start == mapping.end || output.has_dropped
                 || lu_syscap_maps_find (maps, mapping.start) != NULL);
}

static guint64
read_all (LuSyscapReader *reader, guint *n_frames)
{
  g_autoptr (LuSyscapMaps) maps = lu_syscap_maps_new ();
  g_autoptr (GError) error = NULL;
  LuSyscapRecord record;
  LuSyscapRead what;
  guint64 sum = 0;

  while ((what = lu_syscap_reader_next (reader, &record, &error)) == LU_SYSCAP_READ_FRAME)
    {
      sum += sum_record (&record);
      if (record.type == LU_SYSCAP_MAP && *n_frames < 500)
        put_map (maps, &record);
      ++*n_frames;
    }
  g_assert_true ((what == LU_SYSCAP_READ_ERROR) == (error != NULL));
  g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_END);
  return sum + what;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSyscapReader) in_memory = NULL;
  g_autoptr (LuSyscapReader) in_file = NULL;
  guint n_memory = 0, n_file = 0;
  guint64 sum;
  int fd;

  if (size > FILE_MAX)
    return 0;
  in_memory = lu_syscap_reader_new_from_bytes (data, size, &error);
  g_assert_true ((in_memory != NULL) == (error == NULL));
  if (in_memory == NULL)
    return 0;
  sum = read_all (in_memory, &n_memory);

  fd = memfd_create ("capture", MFD_CLOEXEC);
  if (fd < 0 || write (fd, data, size) != (gssize) size || lseek (fd, 0, SEEK_SET) != 0)
    g_error ("no memory file");
  in_file = lu_syscap_reader_new (fd, NULL);
  g_assert_nonnull (in_file);
  g_assert_cmpuint (read_all (in_file, &n_file), ==, sum);
  g_assert_cmpuint (n_file, ==, n_memory);
  return 0;
}
