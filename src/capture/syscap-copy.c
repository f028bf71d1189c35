/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-copy.c - writes a frame that was read; see syscap-writer.h. */

#include "syscap-frames.h"

#include <string.h>

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
