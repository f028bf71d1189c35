/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.c - decodes one perf record, from a ring or a file, into an LuEvent.
 *
 * Used by every source; the layouts are those of linux/perf_event.h (enum perf_event_type).
 * Everything is read through a cursor that cannot leave the record, sizes found inside are checked
 * before they are used, and nothing is allocated: the event points into the record. Side-band
 * records are here, samples in record-sample.c. */

#include "input/record-private.h"

#include <sys/mman.h>

/* Newer than the oldest perf_event.h we build with. */
enum
{
  MISC_MMAP_BUILD_ID = 1 << 14,
  MISC_LOST_TO_FILTER = 1 << 15, /* perf 6.3: the user's own filter dropped them, nothing is lost */
  MOUNT_NAMESPACE = 5,           /* index in NAMESPACES records, MNT_NS_INDEX */
};

/* Fields of the sample_id trailer, in its order (perf_event.h, struct sample_id). */
static const guint64 trailer_bits[] = {
  PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
  PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER,
};

void
lu_record_layout_init (LuRecordLayout *self, const struct perf_event_attr *attr)
{
  *self = (LuRecordLayout){
    .sample_type = attr->sample_type,
    .read_format = attr->read_format,
    .branch_sample_type = attr->branch_sample_type,
    .regs_user = attr->sample_regs_user,
    .regs_intr = attr->sample_regs_intr,
    .sample_id_all = attr->sample_id_all,
  };
}

/* Side-band. Each decoder gets the record's body without the trailer. */

/* What stands between pgoff and prot of MMAP2: { size, 3 reserved, build-id[20] } or the inode. */
static gboolean
read_file_identity (LuCursor *body, gboolean is_build_id, LuMmapEvent *map)
{
  if (is_build_id)
    {
      guint8 size = lu_cursor_u8 (body);
      const guint8 *id;

      lu_cursor_take (body, 3);
      id = lu_cursor_take (body, LU_BUILD_ID_MAX);
      if (size > LU_BUILD_ID_MAX || id == NULL)
        return FALSE;
      map->build_id_size = size;
      memcpy (map->build_id, id, size);
      return TRUE;
    }
  map->major = lu_cursor_u32 (body);
  map->minor = lu_cursor_u32 (body);
  map->inode = lu_cursor_u64 (body);
  map->inode_generation = lu_cursor_u64 (body);
  map->has_inode = TRUE;
  return !body->failed;
}

static gboolean
decode_mapping (LuCursor *body, guint16 misc, gboolean is_mmap2, LuEvent *event)
{
  guint8 cpumode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  LuMmapEvent *map = &event->mmap;

  *map = (LuMmapEvent){ 0 };
  event->pid = (gint32) lu_cursor_u32 (body);
  event->tid = (gint32) lu_cursor_u32 (body);
  map->start = lu_cursor_u64 (body);
  map->length = lu_cursor_u64 (body);
  map->file_offset = lu_cursor_u64 (body);
  map->prot = PROT_READ | ((misc & PERF_RECORD_MISC_MMAP_DATA) ? 0 : PROT_EXEC);
  if (is_mmap2)
    {
      if (!read_file_identity (body, (misc & MISC_MMAP_BUILD_ID) != 0, map))
        return FALSE;
      map->prot = lu_cursor_u32 (body);
      map->flags = lu_cursor_u32 (body);
    }
  map->path = lu_cursor_string (body);
  map->is_kernel =
      event->pid == -1
      || (cpumode != PERF_RECORD_MISC_USER && cpumode != PERF_RECORD_MISC_CPUMODE_UNKNOWN);
  if (map->length > G_MAXUINT64 - map->start)
    {
      if (!map->is_kernel)
        return FALSE;
      map->length = G_MAXUINT64 - map->start; /* perf writes such where it does not know the end */
    }
  event->kind = LU_EVENT_MMAP;
  return !body->failed;
}

static gboolean
decode_mmap (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_mapping (body, misc, FALSE, event);
}

static gboolean
decode_mmap2 (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_mapping (body, misc, TRUE, event);
}

static gboolean
decode_comm (LuCursor *body, guint16 misc, LuEvent *event)
{
  event->pid = (gint32) lu_cursor_u32 (body);
  event->tid = (gint32) lu_cursor_u32 (body);
  event->comm.name = lu_cursor_string (body);
  event->comm.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  event->kind = LU_EVENT_COMM;
  return !body->failed;
}

static gboolean
decode_task (LuCursor *body, LuEvent *event, LuEventKind kind)
{
  guint64 time;

  event->pid = (gint32) lu_cursor_u32 (body);
  event->task.parent_pid = (gint32) lu_cursor_u32 (body);
  event->tid = (gint32) lu_cursor_u32 (body);
  event->task.parent_tid = (gint32) lu_cursor_u32 (body);
  time = lu_cursor_u64 (body);
  if (event->time == 0)
    event->time = time;
  event->kind = kind;
  return !body->failed;
}

static gboolean
decode_fork (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_task (body, event, LU_EVENT_FORK);
}

static gboolean
decode_exit (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_task (body, event, LU_EVENT_EXIT);
}

static gboolean
decode_lost (LuCursor *body, guint16 misc, LuEvent *event)
{
  event->lost.event_id = lu_cursor_u64 (body);
  event->lost.count = lu_cursor_u64 (body);
  event->kind = LU_EVENT_LOST;
  return !body->failed;
}

static gboolean
decode_lost_samples (LuCursor *body, guint16 misc, LuEvent *event)
{
  event->lost.event_id = 0;
  event->lost.count = lu_cursor_u64 (body);
  event->kind = (misc & MISC_LOST_TO_FILTER) ? LU_EVENT_NONE : LU_EVENT_LOST_SAMPLES;
  return !body->failed;
}

static gboolean
decode_throttling (LuCursor *body, LuEvent *event, LuEventKind kind)
{
  guint64 time = lu_cursor_u64 (body);

  lu_cursor_u64 (body); /* id */
  lu_cursor_u64 (body); /* stream_id */
  if (event->time == 0)
    event->time = time;
  event->kind = kind;
  return !body->failed;
}

static gboolean
decode_throttle (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_throttling (body, event, LU_EVENT_THROTTLE);
}

static gboolean
decode_unthrottle (LuCursor *body, guint16 misc, LuEvent *event)
{
  return decode_throttling (body, event, LU_EVENT_UNTHROTTLE);
}

/* { pid, tid, nr, nr x { dev, inode } } */
static gboolean
decode_namespaces (LuCursor *body, guint16 misc, LuEvent *event)
{
  guint64 nr;

  event->pid = (gint32) lu_cursor_u32 (body);
  event->tid = (gint32) lu_cursor_u32 (body);
  event->namespaces.mount_inode = 0;
  nr = lu_cursor_u64 (body);
  if (nr > lu_cursor_left (body) / 16)
    return FALSE;
  if (nr > MOUNT_NAMESPACE)
    {
      lu_cursor_take (body, MOUNT_NAMESPACE * 16 + 8);
      event->namespaces.mount_inode = lu_cursor_u64 (body);
    }
  event->kind = LU_EVENT_NAMESPACES;
  return !body->failed;
}

/* By record type; the types without an entry are valid and of no use to us. */
static gboolean (*const decoders[]) (LuCursor *body, guint16 misc, LuEvent *event) = {
  [PERF_RECORD_MMAP] = decode_mmap,
  [PERF_RECORD_LOST] = decode_lost,
  [PERF_RECORD_COMM] = decode_comm,
  [PERF_RECORD_EXIT] = decode_exit,
  [PERF_RECORD_THROTTLE] = decode_throttle,
  [PERF_RECORD_UNTHROTTLE] = decode_unthrottle,
  [PERF_RECORD_FORK] = decode_fork,
  [PERF_RECORD_MMAP2] = decode_mmap2,
  [PERF_RECORD_LOST_SAMPLES] = decode_lost_samples,
  [PERF_RECORD_NAMESPACES] = decode_namespaces,
};

static gsize
trailer_size (const LuRecordLayout *layout)
{
  gsize size = 0;

  if (!layout->sample_id_all)
    return 0;
  for (guint i = 0; i < G_N_ELEMENTS (trailer_bits); i++)
    size += (layout->sample_type & trailer_bits[i]) ? 8 : 0;
  return size;
}

/* Cuts the trailer off the body and takes task, time and CPU from it. */
static void
read_trailer (const LuRecordLayout *layout, LuCursor *body, LuEvent *event)
{
  gsize size = trailer_size (layout);
  LuCursor trailer;

  if (size > lu_cursor_left (body))
    {
      body->failed = TRUE;
      return;
    }
  body->end -= size;
  lu_cursor_init (&trailer, body->end, size);
  for (guint i = 0; size > 0 && i < G_N_ELEMENTS (trailer_bits); i++)
    {
      guint64 word;

      if (!(layout->sample_type & trailer_bits[i]))
        continue;
      word = lu_cursor_u64 (&trailer);
      if (trailer_bits[i] == PERF_SAMPLE_TID)
        {
          event->pid = (gint32) (guint32) word;
          event->tid = (gint32) (word >> 32);
        }
      else if (trailer_bits[i] == PERF_SAMPLE_TIME)
        event->time = word;
      else if (trailer_bits[i] == PERF_SAMPLE_CPU)
        event->cpu = (gint32) (guint32) word;
    }
}

static gboolean
read_header (LuCursor *cursor, gsize size, struct perf_event_header *header)
{
  header->type = lu_cursor_u32 (cursor);
  header->misc = lu_cursor_u16 (cursor);
  header->size = lu_cursor_u16 (cursor);
  return !cursor->failed && header->size == size;
}

gboolean
lu_record_decode (const LuRecordLayout *layout, gconstpointer bytes, gsize size, LuEvent *event)
{
  struct perf_event_header header;
  LuCursor cursor;

  lu_cursor_init (&cursor, bytes, size);
  if (!read_header (&cursor, size, &header))
    return FALSE;
  event->kind = LU_EVENT_NONE;
  event->cpu = -1;
  event->pid = event->tid = -1;
  event->time = 0;
  event->next = NULL;
  if (header.type >= LU_RECORD_USER_FIRST)
    return TRUE; /* perf's own, without a trailer */
  if (size % 8 != 0)
    return FALSE;
  if (header.type == PERF_RECORD_SAMPLE && layout->is_output)
    return lu_record_decode_walked (layout, &cursor, event);
  if (header.type == PERF_RECORD_SAMPLE)
    {
      event->sample.cpumode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
      return lu_record_decode_sample (layout, &cursor, event);
    }
  read_trailer (layout, &cursor, event);
  if (cursor.failed)
    return FALSE;
  if (header.type >= G_N_ELEMENTS (decoders) || decoders[header.type] == NULL)
    return TRUE;
  return decoders[header.type](&cursor, header.misc, event);
}

/* Words between the header and the id field of a sample. */
static gsize
id_position (guint64 sample_type)
{
  static const guint64 before[] = { PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                    PERF_SAMPLE_ADDR };
  gsize words = 0;

  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    words += (sample_type & before[i]) != 0;
  return words;
}

/* Words from the id field of a trailer to the end of the record. */
static gsize
id_position_from_end (guint64 sample_type)
{
  return 1 + !!(sample_type & PERF_SAMPLE_STREAM_ID) + !!(sample_type & PERF_SAMPLE_CPU);
}

gboolean
lu_record_event_id (const LuRecordLayout *any, gconstpointer bytes, gsize size, guint64 *id)
{
  gboolean has_identifier = (any->sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
  struct perf_event_header header;
  LuCursor cursor;

  lu_cursor_init (&cursor, bytes, size);
  if (!read_header (&cursor, size, &header) || header.type >= LU_RECORD_USER_FIRST)
    return FALSE;
  if (!has_identifier && !(any->sample_type & PERF_SAMPLE_ID))
    return FALSE;
  if (header.type == PERF_RECORD_SAMPLE)
    lu_cursor_take (&cursor, has_identifier ? 0 : 8 * id_position (any->sample_type));
  else if (any->sample_id_all)
    {
      gsize from_end = 8 * (has_identifier ? 1 : id_position_from_end (any->sample_type));
      gsize left = lu_cursor_left (&cursor);

      lu_cursor_take (&cursor, left >= from_end ? left - from_end : left);
    }
  else
    return FALSE;
  *id = lu_cursor_u64 (&cursor);
  return !cursor.failed;
}
