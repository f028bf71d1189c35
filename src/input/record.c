/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record.c - decodes one perf record, from a ring or a file, into an LuEvent.
 *
 * Used by every source; the layouts are those of linux/perf_event.h (enum perf_event_type). A
 * sample's body is a list of optional fields in a fixed order: `fields` below is that list, one
 * small reader each. Everything is read through a cursor that cannot leave the record, sizes found
 * inside are checked before they are used, and nothing is allocated: the event points into the
 * record. */

#include "input/record.h"

#include "base/cursor.h"

#include <sys/mman.h>

/* Newer than the oldest perf_event.h we build with. */
enum
{
  BRANCH_HW_INDEX = 1 << 17, /* Linux 5.7 */
  BRANCH_COUNTERS = 1 << 19, /* Linux 6.8 */
  FORMAT_LOST = 1 << 4,      /* Linux 6.0 */
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

/* Samples */

typedef struct
{
  LuCursor cursor;
  const LuRecordLayout *layout;
  LuEvent *event;
  gboolean skip_hw_index; /* second try, see decode_sample() */
  gboolean empty_branches;
} SampleReader;

static void
skip (LuCursor *cursor, guint64 count, gsize each)
{
  if (count > lu_cursor_left (cursor) / each)
    cursor->failed = TRUE;
  else
    lu_cursor_take (cursor, (gsize)count * each);
}

static void
read_identifier (SampleReader *self)
{
  self->event->sample.event_id = lu_cursor_u64 (&self->cursor);
}

static void
read_ip (SampleReader *self)
{
  self->event->sample.ip = lu_cursor_u64 (&self->cursor);
}

static void
read_tid (SampleReader *self)
{
  self->event->pid = (gint32)lu_cursor_u32 (&self->cursor);
  self->event->tid = (gint32)lu_cursor_u32 (&self->cursor);
}

static void
read_time (SampleReader *self)
{
  self->event->time = lu_cursor_u64 (&self->cursor);
}

static void
read_cpu (SampleReader *self)
{
  self->event->cpu = (gint32)lu_cursor_u32 (&self->cursor);
  lu_cursor_u32 (&self->cursor);
}

static void
read_period (SampleReader *self)
{
  self->event->sample.period = lu_cursor_u64 (&self->cursor);
}

static void
skip_word (SampleReader *self)
{
  lu_cursor_u64 (&self->cursor);
}

/* { value, [enabled], [running], [id], [lost] } or { nr, [enabled], [running], nr x { value, [id],
 * [lost] } } */
static void
skip_read_values (SampleReader *self)
{
  guint64 format = self->layout->read_format;
  gsize times =
      !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
  gsize values = 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);
  guint64 nr = (format & PERF_FORMAT_GROUP) ? lu_cursor_u64 (&self->cursor) : 1;

  skip (&self->cursor, times, 8);
  skip (&self->cursor, nr, values * 8);
}

static void
read_callchain (SampleReader *self)
{
  LuSample *sample = &self->event->sample;
  guint64 nr = lu_cursor_u64 (&self->cursor);
  const guint8 *at = self->cursor.at;

  skip (&self->cursor, nr, 8);
  if (self->cursor.failed)
    return;
  sample->callchain = (const guint64 *)at;
  sample->n_callchain = (guint32)nr;
}

/* The kernel pads the data so that size and data together are a multiple of 8; `size` counts the
 * padding. */
static void
skip_raw (SampleReader *self)
{
  guint32 size = lu_cursor_u32 (&self->cursor);

  if ((size + 4ull) % 8 != 0)
    self->cursor.failed = TRUE;
  skip (&self->cursor, size, 1);
}

static void
skip_branches (SampleReader *self)
{
  guint64 type = self->layout->branch_sample_type;
  gsize each = sizeof (struct perf_branch_entry) + ((type & BRANCH_COUNTERS) ? 8 : 0);
  guint64 nr = lu_cursor_u64 (&self->cursor);

  if (nr == 0 && (type & BRANCH_HW_INDEX))
    self->empty_branches = TRUE;
  if ((type & BRANCH_HW_INDEX) && !self->skip_hw_index)
    lu_cursor_u64 (&self->cursor);
  skip (&self->cursor, nr, each);
}

static void
read_regs (LuCursor *cursor, guint64 mask, LuRegs *regs)
{
  guint64 abi = lu_cursor_u64 (cursor);
  guint32 n_words = (guint32)__builtin_popcountll (mask);

  *regs = (LuRegs){ .abi = (guint32)abi };
  if (abi == LU_ABI_NONE)
    return;
  if (abi > LU_ABI_64)
    cursor->failed = TRUE;
  regs->mask = mask;
  regs->n_words = n_words;
  regs->words = (const guint64 *)lu_cursor_take (cursor, n_words * 8);
}

static void
read_user_regs (SampleReader *self)
{
  read_regs (&self->cursor, self->layout->regs_user, &self->event->sample.regs);
}

/* { size, data[size], dyn_size }; without data there is no dyn_size either. */
static void
read_user_stack (SampleReader *self)
{
  LuSample *sample = &self->event->sample;
  guint64 size = lu_cursor_u64 (&self->cursor);
  guint64 dyn_size;
  const guint8 *at = self->cursor.at;

  if (size == 0)
    return;
  skip (&self->cursor, size, 1);
  dyn_size = lu_cursor_u64 (&self->cursor);
  if (size % 8 != 0 || dyn_size > size)
    self->cursor.failed = TRUE;
  if (self->cursor.failed)
    return;
  sample->stack = at;
  sample->stack_asked = (guint32)size;
  sample->stack_size = (guint32)dyn_size;
}

static void
skip_interrupt_regs (SampleReader *self)
{
  LuRegs regs;

  read_regs (&self->cursor, self->layout->regs_intr, &regs);
}

static void
skip_aux (SampleReader *self)
{
  guint64 size = lu_cursor_u64 (&self->cursor);

  skip (&self->cursor, size, 1);
}

/* In the order of the record (perf_event.h, PERF_RECORD_SAMPLE). The weight is one word in both its
 * forms. */
static const struct
{
  guint64 bits;
  void (*read) (SampleReader *self);
} fields[] = {
  { PERF_SAMPLE_IDENTIFIER, read_identifier },
  { PERF_SAMPLE_IP, read_ip },
  { PERF_SAMPLE_TID, read_tid },
  { PERF_SAMPLE_TIME, read_time },
  { PERF_SAMPLE_ADDR, skip_word },
  { PERF_SAMPLE_ID, read_identifier },
  { PERF_SAMPLE_STREAM_ID, skip_word },
  { PERF_SAMPLE_CPU, read_cpu },
  { PERF_SAMPLE_PERIOD, read_period },
  { PERF_SAMPLE_READ, skip_read_values },
  { PERF_SAMPLE_CALLCHAIN, read_callchain },
  { PERF_SAMPLE_RAW, skip_raw },
  { PERF_SAMPLE_BRANCH_STACK, skip_branches },
  { PERF_SAMPLE_REGS_USER, read_user_regs },
  { PERF_SAMPLE_STACK_USER, read_user_stack },
  { PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, skip_word },
  { PERF_SAMPLE_DATA_SRC, skip_word },
  { PERF_SAMPLE_TRANSACTION, skip_word },
  { PERF_SAMPLE_REGS_INTR, skip_interrupt_regs },
  { PERF_SAMPLE_PHYS_ADDR, skip_word },
  { PERF_SAMPLE_CGROUP, skip_word },
  { PERF_SAMPLE_DATA_PAGE_SIZE, skip_word },
  { PERF_SAMPLE_CODE_PAGE_SIZE, skip_word },
  { PERF_SAMPLE_AUX, skip_aux },
};

static gboolean
read_fields (SampleReader *self)
{
  LuEvent *event = self->event;
  guint8 cpumode = event->sample.cpumode;

  event->sample = (LuSample){ .cpumode = cpumode };
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (self->layout->sample_type & fields[i].bits)
      fields[i].read (self);
  return !self->cursor.failed;
}

/* A sample without any branch stack has nr = 0 and no hw_idx, one with an empty branch stack has
 * both (kernel, perf_output_sample()): only the size of the record tells which it is. */
static gboolean
decode_sample (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event)
{
  SampleReader reader = { .cursor = *cursor, .layout = layout, .event = event };
  gboolean ok = read_fields (&reader);

  if (reader.empty_branches && (!ok || lu_cursor_left (&reader.cursor) != 0))
    {
      reader.cursor = *cursor;
      reader.skip_hw_index = TRUE;
      ok = read_fields (&reader);
    }
  event->kind = LU_EVENT_SAMPLE;
  return ok;
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
  event->pid = (gint32)lu_cursor_u32 (body);
  event->tid = (gint32)lu_cursor_u32 (body);
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
  event->pid = (gint32)lu_cursor_u32 (body);
  event->tid = (gint32)lu_cursor_u32 (body);
  event->comm.name = lu_cursor_string (body);
  event->comm.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  event->kind = LU_EVENT_COMM;
  return !body->failed;
}

static gboolean
decode_task (LuCursor *body, LuEvent *event, LuEventKind kind)
{
  guint64 time;

  event->pid = (gint32)lu_cursor_u32 (body);
  event->task.parent_pid = (gint32)lu_cursor_u32 (body);
  event->tid = (gint32)lu_cursor_u32 (body);
  event->task.parent_tid = (gint32)lu_cursor_u32 (body);
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

  event->pid = (gint32)lu_cursor_u32 (body);
  event->tid = (gint32)lu_cursor_u32 (body);
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
          event->pid = (gint32)(guint32)word;
          event->tid = (gint32)(word >> 32);
        }
      else if (trailer_bits[i] == PERF_SAMPLE_TIME)
        event->time = word;
      else if (trailer_bits[i] == PERF_SAMPLE_CPU)
        event->cpu = (gint32)(guint32)word;
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
  if (header.type >= LU_RECORD_USER_FIRST)
    return TRUE; /* perf's own, without a trailer */
  if (size % 8 != 0)
    return FALSE;
  if (header.type == PERF_RECORD_SAMPLE)
    {
      event->sample.cpumode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
      return decode_sample (layout, &cursor, event);
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
    skip (&cursor, has_identifier ? 0 : id_position (any->sample_type), 8);
  else if (any->sample_id_all)
    {
      gsize from_end = 8 * (has_identifier ? 1 : id_position_from_end (any->sample_type));
      gsize left = lu_cursor_left (&cursor);

      skip (&cursor, left >= from_end ? left - from_end : left, 1);
    }
  else
    return FALSE;
  *id = lu_cursor_u64 (&cursor);
  return !cursor.failed;
}
