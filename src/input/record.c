/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.c - decodes one perf record, from a ring or a file, into an LuEvent; see record.h.
 *
 * Used by every source. The layouts are those of linux/perf_event.h (enum perf_event_type).
 * Everything is read through a cursor that cannot leave the record, sizes are checked before they
 * are used, and nothing is allocated: the event points into the record. This file has the side-band
 * records; record-sample.c has the samples. */

#include "input/record-private.h"

#include <sys/mman.h>

/* Not in the oldest perf_event.h we build with. */
enum
{
  MISC_MMAP_BUILD_ID = 1 << 14,
  MISC_LOST_TO_FILTER =
      1 << 15,         /* perf 6.3: the user's own filter dropped them; nothing was lost */
  MOUNT_NAMESPACE = 5, /* index in NAMESPACES records (MNT_NS_INDEX) */
};

/* The fields of the sample_id trailer, one word each (perf_event.h, struct sample_id). */
#define TRAILER_BITS                                                                               \
  ((guint64) PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID           \
   | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* The beginning of MMAP and MMAP2 records. */
typedef struct
{
  guint32 pid, tid;
  guint64 start, length, file_offset;
} MappingHead;

/* The fields of MMAP2 between MappingHead and prot. */
typedef union
{
  struct
  {
    guint32 major, minor;
    guint64 inode, inode_generation;
  } inode;
  struct
  {
    guint8 size, reserved[3], id[LU_BUILD_ID_MAX];
  } build_id;
} FileIdentity;

/* The body of FORK and EXIT records. */
typedef struct
{
  guint32 pid, parent_pid, tid, parent_tid;
  guint64 time;
} TaskBody;

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

/* Side-band. Each decoder gets the body of the record without the trailer. */

/* Reads fields of a fixed size at once. Returns FALSE if they are not all there. */
static gboolean
read_fixed (LuCursor *body, gpointer fields, gsize size)
{
  const guint8 *at = lu_cursor_take (body, size);

  if (at == NULL)
    return FALSE;
  memcpy (fields, at, size);
  return TRUE;
}

static gboolean
read_file_identity (LuCursor *body, gboolean is_build_id, LuMmapEvent *map)
{
  FileIdentity identity;

  if (!read_fixed (body, &identity, sizeof identity))
    return FALSE;
  if (is_build_id)
    {
      if (identity.build_id.size > LU_BUILD_ID_MAX)
        return FALSE;
      map->build_id_size = identity.build_id.size;
      memcpy (map->build_id, identity.build_id.id, identity.build_id.size);
      return TRUE;
    }
  map->major = identity.inode.major;
  map->minor = identity.inode.minor;
  map->inode = identity.inode.inode;
  map->inode_generation = identity.inode.inode_generation;
  map->has_inode = TRUE;
  return TRUE;
}

/* MMAP and MMAP2 */
static gboolean
decode_mapping (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  guint8 cpumode = header->misc & PERF_RECORD_MISC_CPUMODE_MASK;
  LuMmapEvent *map = &event->mmap;
  MappingHead head;

  if (!read_fixed (body, &head, sizeof head))
    return FALSE;
  event->pid = (gint32) head.pid;
  event->tid = (gint32) head.tid;
  *map = (LuMmapEvent){
    .start = head.start, .length = head.length, .file_offset = head.file_offset, .prot = PROT_READ
  };
  if ((header->misc & PERF_RECORD_MISC_MMAP_DATA) == 0)
    map->prot |= PROT_EXEC;
  if (header->type == PERF_RECORD_MMAP2)
    {
      guint32 prot_and_flags[2];

      if (!read_file_identity (body, (header->misc & MISC_MMAP_BUILD_ID) != 0, map)
          || !read_fixed (body, prot_and_flags, sizeof prot_and_flags))
        return FALSE;
      map->prot = prot_and_flags[0];
      map->flags = prot_and_flags[1];
    }
  map->path = lu_cursor_string (body);
  map->is_kernel =
      event->pid == -1
      || (cpumode != PERF_RECORD_MISC_USER && cpumode != PERF_RECORD_MISC_CPUMODE_UNKNOWN);
  if (map->length > G_MAXUINT64 - map->start)
    {
      if (!map->is_kernel)
        return FALSE;
      map->length =
          G_MAXUINT64 - map->start; /* perf writes such sizes where it does not know the end */
    }
  event->kind = LU_EVENT_MMAP;
  return !body->failed;
}

static gboolean
decode_comm (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  event->pid = (gint32) lu_cursor_u32 (body);
  event->tid = (gint32) lu_cursor_u32 (body);
  event->comm.name = lu_cursor_string (body);
  event->comm.is_exec = (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  event->kind = LU_EVENT_COMM;
  return !body->failed;
}

/* FORK and EXIT */
static gboolean
decode_task (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  TaskBody task;

  if (!read_fixed (body, &task, sizeof task))
    return FALSE;
  event->pid = (gint32) task.pid;
  event->tid = (gint32) task.tid;
  event->task.parent_pid = (gint32) task.parent_pid;
  event->task.parent_tid = (gint32) task.parent_tid;
  if (event->time == 0)
    event->time = task.time;
  event->kind = header->type == PERF_RECORD_FORK ? LU_EVENT_FORK : LU_EVENT_EXIT;
  return TRUE;
}

static gboolean
decode_lost (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  event->lost.event_id = lu_cursor_u64 (body);
  event->lost.count = lu_cursor_u64 (body);
  event->kind = LU_EVENT_LOST;
  return !body->failed;
}

static gboolean
decode_lost_samples (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  event->lost.event_id = 0;
  event->lost.count = lu_cursor_u64 (body);
  event->kind = (header->misc & MISC_LOST_TO_FILTER) ? LU_EVENT_NONE : LU_EVENT_LOST_SAMPLES;
  return !body->failed;
}

/* THROTTLE and UNTHROTTLE */
static gboolean
decode_throttling (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  guint64 time = lu_cursor_u64 (body);

  lu_cursor_u64 (body); /* id */
  lu_cursor_u64 (body); /* stream_id */
  if (event->time == 0)
    event->time = time;
  event->kind = header->type == PERF_RECORD_THROTTLE ? LU_EVENT_THROTTLE : LU_EVENT_UNTHROTTLE;
  return !body->failed;
}

/* { pid, tid, nr, nr x { dev, inode } } */
static gboolean
decode_namespaces (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
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

/* { cookie, nr, ips[nr] }: a user callchain that the kernel walked later, when the task returned to
 * user mode. */
static gboolean
decode_deferred_chain (LuCursor *body, const struct perf_event_header *header, LuEvent *event)
{
  guint64 nr;

  event->deferred_chain.cookie = lu_cursor_u64 (body);
  nr = lu_cursor_u64 (body);
  if (nr > lu_cursor_left (body) / sizeof (guint64))
    return FALSE;
  event->deferred_chain.n_words = (guint32) nr;
  event->deferred_chain.words = lu_cursor_take (body, nr * sizeof (guint64));
  event->kind = LU_EVENT_DEFERRED_CHAIN;
  return !body->failed;
}

/* Indexed by record type. Types without an entry are valid but not used. */
static gboolean (*const decoders[]) (LuCursor *body, const struct perf_event_header *header,
                                     LuEvent *event) = {
  [PERF_RECORD_MMAP] = decode_mapping,
  [PERF_RECORD_LOST] = decode_lost,
  [PERF_RECORD_COMM] = decode_comm,
  [PERF_RECORD_EXIT] = decode_task,
  [PERF_RECORD_THROTTLE] = decode_throttling,
  [PERF_RECORD_UNTHROTTLE] = decode_throttling,
  [PERF_RECORD_FORK] = decode_task,
  [PERF_RECORD_MMAP2] = decode_mapping,
  [PERF_RECORD_LOST_SAMPLES] = decode_lost_samples,
  [PERF_RECORD_NAMESPACES] = decode_namespaces,
  [LU_RECORD_CALLCHAIN_DEFERRED] = decode_deferred_chain,
};

static gsize
trailer_size (const LuRecordLayout *layout)
{
  return layout->sample_id_all
             ? sizeof (guint64) * (gsize) __builtin_popcountll (layout->sample_type & TRAILER_BITS)
             : 0;
}

/* Cuts the trailer off the body and reads task, time and CPU from it. */
static void
read_trailer (const LuRecordLayout *layout, LuCursor *body, LuEvent *event)
{
  gsize size = trailer_size (layout);
  guint64 bits = size > 0 ? layout->sample_type : 0;
  guint32 task[2];
  const guint8 *at;

  if (size > lu_cursor_left (body))
    {
      body->failed = TRUE;
      return;
    }
  body->end -= size;
  at = body->end;
  if (bits & PERF_SAMPLE_TID)
    {
      memcpy (task, at, sizeof task);
      event->pid = (gint32) task[0];
      event->tid = (gint32) task[1];
      at += sizeof (guint64);
    }
  if (bits & PERF_SAMPLE_TIME)
    {
      memcpy (&event->time, at, sizeof event->time);
      at += sizeof (guint64);
    }
  at += bits & PERF_SAMPLE_ID ? sizeof (guint64) : 0;
  at += bits & PERF_SAMPLE_STREAM_ID ? sizeof (guint64) : 0;
  if (bits & PERF_SAMPLE_CPU)
    memcpy (&event->cpu, at, sizeof event->cpu);
}

static gboolean
read_header (LuCursor *cursor, gsize size, struct perf_event_header *header)
{
  return read_fixed (cursor, header, sizeof *header) && header->size == size;
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
    return TRUE; /* perf's own records have no trailer */
  if (size % 8 != 0)
    return FALSE;
  if (header.type == PERF_RECORD_SAMPLE && layout->is_output)
    return lu_record_decode_bpf_unwound (layout, &cursor, event);
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
  return decoders[header.type](&cursor, &header, event);
}

/* Returns the number of words between the header and the id field of a sample. */
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

/* Returns the number of words from the id field of a trailer to the end of the record. */
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
