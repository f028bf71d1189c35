/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* record-sample.c - decodes the body of a SAMPLE record.
 *
 * The body is a list of optional fields in a fixed order (perf_event.h, PERF_RECORD_SAMPLE):
 * `fields` below is that list, one small reader each. The fields after the user stack are read as
 * well, to check that the record matches its layout. */

#include "input/record-private.h"

/* Not in the oldest perf_event.h we build with. */
enum
{
  BRANCH_HW_INDEX = 1 << 17, /* Linux 5.7 */
  BRANCH_COUNTERS = 1 << 19, /* Linux 6.8 */
  FORMAT_LOST = 1 << 4,      /* Linux 6.0 */
};

typedef struct
{
  LuCursor cursor;
  const LuRecordLayout *layout;
  LuEvent *event;
  gboolean skip_hw_index; /* second attempt, see lu_record_decode_sample() */
  gboolean empty_branches;
} SampleReader;

static void
skip (LuCursor *cursor, guint64 count, gsize each)
{
  if (count > lu_cursor_left (cursor) / each)
    cursor->failed = TRUE;
  else
    lu_cursor_take (cursor, (gsize) count * each);
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
  self->event->pid = (gint32) lu_cursor_u32 (&self->cursor);
  self->event->tid = (gint32) lu_cursor_u32 (&self->cursor);
}

static void
read_time (SampleReader *self)
{
  self->event->time = lu_cursor_u64 (&self->cursor);
}

static void
read_cpu (SampleReader *self)
{
  self->event->cpu = (gint32) lu_cursor_u32 (&self->cursor);
  lu_cursor_u32 (&self->cursor);
}

static void
read_period (SampleReader *self)
{
  self->event->sample.weight = lu_cursor_u64 (&self->cursor);
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
  sample->callchain = (const guint64 *) at;
  sample->n_callchain = (guint32) nr;
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

/* The layout follows from branch_sample_type. Branches are calls only if calls were requested,
 * otherwise any jumps. The counters, one word each, follow all branches. */
static void
read_branches (SampleReader *self)
{
  LuSample *sample = &self->event->sample;
  guint64 type = self->layout->branch_sample_type;
  guint64 nr = lu_cursor_u64 (&self->cursor);
  const guint8 *at;

  if (nr == 0 && (type & BRANCH_HW_INDEX))
    self->empty_branches = TRUE;
  if ((type & BRANCH_HW_INDEX) && !self->skip_hw_index)
    lu_cursor_u64 (&self->cursor);
  at = self->cursor.at;
  skip (&self->cursor, nr, sizeof (struct perf_branch_entry));
  if (type & BRANCH_COUNTERS)
    skip (&self->cursor, nr, 8);
  if (self->cursor.failed || !(type & PERF_SAMPLE_BRANCH_CALL_STACK))
    return;
  sample->branches = (const guint64 *) at;
  sample->n_branches = (guint32) nr;
}

static void
read_regs (LuCursor *cursor, guint64 mask, LuRegs *regs)
{
  guint64 abi = lu_cursor_u64 (cursor);
  guint32 n_words = (guint32) __builtin_popcountll (mask);

  *regs = (LuRegs){ .abi = (guint16) abi };
  if (abi == LU_ABI_NONE)
    return;
  if (abi > LU_ABI_64)
    cursor->failed = TRUE;
  regs->mask = mask;
  regs->n_words = n_words;
  regs->words = (const guint64 *) lu_cursor_take (cursor, n_words * 8);
}

static void
read_user_regs (SampleReader *self)
{
  read_regs (&self->cursor, self->layout->regs_user, &self->event->sample.regs);
}

/* The field is { size, data[size], dyn_size }; without data there is no dyn_size. */
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
  sample->stack_asked = (guint32) size;
  sample->stack_size = (guint32) dyn_size;
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

/* The fields in the order of the record (perf_event.h, PERF_RECORD_SAMPLE). Both forms of the
 * weight are one word. */
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
  { PERF_SAMPLE_BRANCH_STACK, read_branches },
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

/* A sample without a branch stack has nr = 0 and no hw_idx; one with an empty branch stack has both
 * (kernel, perf_output_sample()). Only the size of the record tells them apart. */
gboolean
lu_record_decode_sample (const LuRecordLayout *layout, LuCursor *cursor, LuEvent *event)
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
