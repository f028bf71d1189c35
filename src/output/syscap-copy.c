/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-copy.c - one frame as it was read, written again; see syscap-copy.h. */

#include "output/syscap-copy.h"

#include "output/syscap-frames.h"

#include <string.h>

/* Hexadecimal digits; nothing has more than 64. */
#define MAX_BUILD_ID 512

static gboolean
copy_map (LuSyscapWriter *writer, const LuSyscapRecord *record, GError **error)
{
  g_autoptr (GString) name = g_string_new (record->map.path);
  LuSyscapMapping mapping = { .start = record->map.start,
                              .end = record->map.end,
                              .file_offset = record->map.file_offset,
                              .time = (guint64) record->time };

  g_string_append_c (name, LU_SYSCAP_NAME_SEPARATOR);
  if (record->map.build_id != NULL && strlen (record->map.build_id) <= MAX_BUILD_ID)
    g_string_append_printf (name, "@%s", record->map.build_id);
  else if (record->map.inode != 0)
    g_string_append_printf (name, "#%" G_GUINT64_FORMAT, record->map.inode);
  mapping.name = name->str;
  return lu_syscap_write_map (writer, record->pid, &mapping, error);
}

gboolean
lu_syscap_copy_frame (LuSyscapWriter *writer, const LuSyscapRecord *record, GError **error)
{
  guint64 time = (guint64) MAX (record->time, 0);

  switch (record->type)
    {
    case LU_SYSCAP_SAMPLE:
      return lu_syscap_write_sample (writer, time, record->cpu, record->pid, record->sample.tid,
                                     record->sample.addresses, record->sample.n_addresses, error);
    case LU_SYSCAP_MAP:
      return copy_map (writer, record, error);
    case LU_SYSCAP_PROCESS:
      return lu_syscap_write_process (writer, time, record->pid, record->process.command_line,
                                      error);
    case LU_SYSCAP_FORK:
      return lu_syscap_write_fork (writer, time, record->pid, record->fork.child_pid, error);
    case LU_SYSCAP_EXIT:
      return lu_syscap_write_exit (writer, time, record->pid, error);
    case LU_SYSCAP_JITMAP:
      return lu_syscap_write_jit_names (writer, record->jitmap.names, record->jitmap.n_names,
                                        error);
    case LU_SYSCAP_METADATA:
      return lu_syscap_write_metadata (writer, record->metadata.key, record->metadata.text, error);
    case LU_SYSCAP_LOG:
      return lu_syscap_write_log (writer, time, record->log.message, error);
    case LU_SYSCAP_FILE_CHUNK:
      return lu_syscap_write_file (writer, record->file.path, (const char *) record->file.bytes,
                                   record->file.size, record->file.is_last, error);
    default:
      return TRUE;
    }
}
