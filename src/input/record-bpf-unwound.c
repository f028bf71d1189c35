/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-bpf-unwound.c - decodes records of the BPF program: samples whose stack was unwound in the
 * kernel, arguments of processes, and functions of interpreters. They are the raw data of an output
 * event (lu/bpf.h, lu/interp.h).
 *
 * Raw data follows a size of 4 bytes, so the record is not aligned: it is read through a cursor,
 * and its addresses stay bytes. */

#include "record-private.h"

#include "lu/bpf.h"

/* The kernel rounds size and data up to a multiple of 8. */
#define PADDING_MAX 7

/* Reads the fields before the raw data, in the order of the record (perf_event.h,
 * PERF_RECORD_SAMPLE). */
static void
read_task (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event)
{
  static const guint64 skipped[] = { PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID };

  if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
    lu_cursor_u64 (cursor);
  if (layout->sample_type & PERF_SAMPLE_TID)
    {
      event->pid = (gint32) lu_cursor_u32 (cursor);
      event->tid = (gint32) lu_cursor_u32 (cursor);
    }
  if (layout->sample_type & PERF_SAMPLE_TIME)
    event->time = lu_cursor_u64 (cursor);
  for (guint i = 0; i < G_N_ELEMENTS (skipped); i++)
    if (layout->sample_type & skipped[i])
      lu_cursor_u64 (cursor);
  if (layout->sample_type & PERF_SAMPLE_CPU)
    {
      event->cpu = (gint32) lu_cursor_u32 (cursor);
      lu_cursor_u32 (cursor);
    }
}

static gboolean
is_sound (const struct lu_bpf_record *record, gsize bytes_left)
{
  gsize size = ((gsize) record->n_kernel + record->n_user) * sizeof (guint64);

  return record->version == LU_BPF_VERSION
         && (record->status == LU_STATUS_COMPLETE || record->status == LU_STATUS_DEPTH_LIMIT
             || record->status == LU_STATUS_OTHER_STACK)
         && record->n_kernel <= LU_BPF_MAX_KERNEL && record->n_user > 0
         && record->n_user <= LU_BPF_MAX_FRAMES && size <= bytes_left
         && bytes_left - size <= PADDING_MAX;
}

static gboolean
decode_arguments (LuCursor *raw, LuEvent *event)
{
  guint32 size;
  const guint8 *text;

  lu_cursor_u32 (raw);
  size = lu_cursor_u32 (raw);
  text = lu_cursor_take (raw, size);
  if (text == NULL || size == 0 || size > LU_BPF_MAX_ARGUMENTS
      || lu_cursor_left (raw) > PADDING_MAX)
    return FALSE;
  event->kind = LU_EVENT_ARGUMENTS;
  event->arguments.text = (const char *) text;
  event->arguments.size = size;
  return TRUE;
}

static gboolean
decode_stack (LuCursor *raw, LuEvent *event)
{
  struct lu_bpf_record record;
  const guint8 *bytes = lu_cursor_take (raw, sizeof record);

  if (bytes == NULL)
    return FALSE;
  memcpy (&record, bytes, sizeof record);
  if (!is_sound (&record, lu_cursor_left (raw)))
    return FALSE;
  event->kind = LU_EVENT_BPF_UNWOUND;
  event->bpf_unwound = (LuBpfUnwoundStack){ .status = (LuStatus) record.status,
                                            .serial = record.serial,
                                            .ip = record.ip,
                                            .sp = record.sp,
                                            .flags = record.flags,
                                            .walk_ns = record.walk_ns,
                                            .n_kernel = record.n_kernel,
                                            .n_user = record.n_user,
                                            .time = record.time,
                                            .pcs = raw->at };
  return TRUE;
}

static gboolean
decode_chain (LuCursor *raw, LuEvent *event)
{
  struct lu_interp_chain chain;
  const guint8 *bytes = lu_cursor_take (raw, sizeof chain), *frames;

  if (bytes == NULL)
    return FALSE;
  memcpy (&chain, bytes, sizeof chain);
  if (chain.language == LU_INTERP_NONE || chain.n_frames > LU_INTERP_MAX_FRAMES)
    return FALSE;
  frames = lu_cursor_take (raw, chain.n_frames * sizeof (struct lu_interp_frame));
  if (frames == NULL || lu_cursor_left (raw) > PADDING_MAX)
    return FALSE;
  event->kind = LU_EVENT_INTERP_CHAIN;
  event->interp_chain = (LuInterpChain){ .language = chain.language,
                                         .flags = chain.flags,
                                         .n_frames = chain.n_frames,
                                         .time = chain.time,
                                         .frames = frames };
  return TRUE;
}

static gboolean
decode_function (LuCursor *raw, LuEvent *event)
{
  struct lu_interp_function function;
  const guint8 *bytes = lu_cursor_take (raw, sizeof function), *name, *path, *lines;

  if (bytes == NULL)
    return FALSE;
  memcpy (&function, bytes, sizeof function);
  name = lu_cursor_take (raw, LU_INTERP_MAX_NAME);
  path = lu_cursor_take (raw, function.path.size);
  lines = lu_cursor_take (raw, function.lines.size);
  if (name == NULL || path == NULL || lines == NULL || lu_cursor_left (raw) > PADDING_MAX
      || function.language == LU_INTERP_NONE || function.name.size > LU_INTERP_MAX_NAME
      || function.path.size > LU_INTERP_MAX_PATH)
    return FALSE;
  event->kind = LU_EVENT_INTERP_FUNCTION;
  event->interp_function = (LuInterpFunction){ .language = function.language,
                                               .check = function.check,
                                               .first_line = function.first_line,
                                               .code = function.code,
                                               .name = function.name,
                                               .path = function.path,
                                               .lines = function.lines,
                                               .name_text = name,
                                               .path_text = path,
                                               .lines_bytes = lines };
  return TRUE;
}

static gboolean
decode_raw (guint32 version, LuCursor *raw, LuEvent *event)
{
  switch (version)
    {
    case LU_BPF_ARGUMENTS_VERSION:
      return decode_arguments (raw, event);
    case LU_INTERP_CHAIN_VERSION:
      return decode_chain (raw, event);
    case LU_INTERP_FUNCTION_VERSION:
      return decode_function (raw, event);
    default:
      return decode_stack (raw, event);
    }
}

gboolean
lu_record_decode_bpf_unwound (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event)
{
  const guint8 *bytes;
  guint32 size, version = 0;
  LuCursor raw;

  read_task (layout, cursor, event);
  size = lu_cursor_u32 (cursor);
  bytes = lu_cursor_take (cursor, size);
  if (bytes == NULL || cursor->failed || lu_cursor_left (cursor) != 0)
    return FALSE;
  if (size >= sizeof version)
    memcpy (&version, bytes, sizeof version);
  lu_cursor_init (&raw, bytes, size);
  return decode_raw (version, &raw, event);
}
