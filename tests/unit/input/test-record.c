/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-record.c - the record decoder: every layout, every wrong size, and every truncated prefix.
 *
 * Records are written field by field here, in the terms of linux/perf_event.h, so that the tests
 * share no layout code with the decoder. */

#include "input/record.h"

#include "../../cases.h"

#include <string.h>
#include <sys/mman.h>

/* A record under construction; 8-aligned as in a ring. */
typedef struct
{
  guint64 words[8192];
  gsize size;
} Record;

static void
put (Record *self, gconstpointer bytes, gsize size)
{
  g_assert_cmpuint (self->size + size, <=, sizeof self->words);
  memcpy ((guint8 *) self->words + self->size, bytes, size);
  self->size += size;
}

static void
put32 (Record *self, guint32 value)
{
  put (self, &value, sizeof value);
}

static void
put64 (Record *self, guint64 value)
{
  put (self, &value, sizeof value);
}

static void
put_string (Record *self, const char *string)
{
  static const char zeros[8] = "";
  gsize size = strlen (string) + 1;

  put (self, string, size);
  put (self, zeros, (8 - size % 8) % 8);
}

static Record *
begin (guint32 type, guint16 misc)
{
  Record *self = g_new0 (Record, 1);

  put32 (self, type);
  put32 (self, misc);
  return self;
}

static void
set_size (Record *self, gsize size)
{
  guint16 value = (guint16) size;

  memcpy ((guint8 *) self->words + 6, &value, sizeof value);
}

/* Decodes from a block of exactly the record's size, so that a sanitizer sees any read past it. */
static gboolean
decode (const LuRecordLayout *layout, const Record *record, gsize size, LuEvent *event,
        gpointer *bytes)
{
  *bytes = g_malloc (MAX (size, 8));
  memcpy (*bytes, record->words, size);
  if (size >= 8)
    ((guint16 *) *bytes)[3] = (guint16) size;
  return lu_record_decode (layout, *bytes, size, event);
}

static void
assert_prefixes_refused (const LuRecordLayout *layout, const Record *record, gsize step)
{
  for (gsize size = 0; size < record->size; size += step)
    {
      g_autofree gpointer bytes = NULL;
      LuEvent event;

      if (decode (layout, record, size, &event, &bytes))
        g_error ("accepted after %zu of %zu bytes", size, record->size);
    }
}

enum
{
  TRAILER = 1 << 0,
  READ_GROUP = 1 << 1,
  HW_INDEX = 1 << 2,
  NO_REGS = 1 << 3,
  NO_STACK = 1 << 4,
  EMPTY_BRANCHES = 1 << 5,
  COUNTERS = 1 << 6,
};

#define ALL_FIELDS                                                                                 \
  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR \
   | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD                 \
   | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK         \
   | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_STRUCT                    \
   | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR                        \
   | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE                       \
   | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX)
#define USUAL_FIELDS                                                                               \
  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU  \
   | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static const guint64 usual_mask = 0xff01ff;
static const guint64 chain[] = { (guint64) -128, 0xffffffff81000010, 0xffffffff81000020 };

static void
put_fields_before_stacks (Record *self, guint64 type)
{
  if (type & PERF_SAMPLE_IDENTIFIER)
    put64 (self, 77);
  if (type & PERF_SAMPLE_IP)
    put64 (self, 0x401000);
  if (type & PERF_SAMPLE_TID)
    put32 (self, 100), put32 (self, 101);
  if (type & PERF_SAMPLE_TIME)
    put64 (self, 5000);
  if (type & PERF_SAMPLE_ADDR)
    put64 (self, 1);
  if (type & PERF_SAMPLE_ID)
    put64 (self, 77);
  if (type & PERF_SAMPLE_STREAM_ID)
    put64 (self, 3);
  if (type & PERF_SAMPLE_CPU)
    put32 (self, 2), put32 (self, 0);
  if (type & PERF_SAMPLE_PERIOD)
    put64 (self, 1001001);
}

static void
put_read_values (Record *self, guint64 format)
{
  gsize groups = 1;

  if (format & PERF_FORMAT_GROUP)
    put64 (self, groups = 3);
  else
    put64 (self, 10);
  if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
    put64 (self, 11);
  if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
    put64 (self, 12);
  for (gsize i = 0; i < groups; i++)
    {
      if (format & PERF_FORMAT_GROUP)
        put64 (self, 13);
      if (format & PERF_FORMAT_ID)
        put64 (self, 14);
      if (format & (1 << 4)) /* PERF_FORMAT_LOST */
        put64 (self, 15);
    }
}

static void
put_branches (Record *self, guint flags)
{
  guint64 nr = (flags & EMPTY_BRANCHES) ? 0 : 2;

  put64 (self, nr);
  if ((flags & HW_INDEX) && nr > 0)
    put64 (self, 9);
  for (guint64 i = 0; i < nr * 3; i++)
    put64 (self, 0xb000 + i);
  for (guint64 i = 0; i < nr && (flags & COUNTERS); i++)
    put64 (self, 1);
}

static void
put_regs (Record *self, guint64 mask, gboolean none)
{
  put64 (self, none ? 0 : 2);
  for (guint bit = 0; bit < 64 && !none; bit++)
    if (mask & (1ull << bit))
      put64 (self, 0x7000 + bit);
}

static void
put_stack (Record *self, guint64 size, guint64 dyn_size)
{
  put64 (self, size);
  for (guint64 i = 0; i < size; i += 8)
    put64 (self, 0x57ac0000 + i);
  if (size > 0)
    put64 (self, dyn_size);
}

static void
put_raw (Record *self)
{
  put32 (self, 12);
  for (int i = 0; i < 3; i++)
    put32 (self, 0xabababab);
}

static void
put_fields_after_stacks (Record *self, guint64 type, guint64 intr_mask)
{
  if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
    put64 (self, 20);
  if (type & PERF_SAMPLE_DATA_SRC)
    put64 (self, 21);
  if (type & PERF_SAMPLE_TRANSACTION)
    put64 (self, 22);
  if (type & PERF_SAMPLE_REGS_INTR)
    put_regs (self, intr_mask, FALSE);
  if (type & PERF_SAMPLE_PHYS_ADDR)
    put64 (self, 23);
  if (type & PERF_SAMPLE_CGROUP)
    put64 (self, 24);
  if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
    put64 (self, 4096);
  if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
    put64 (self, 4096);
  if (type & PERF_SAMPLE_AUX)
    put64 (self, 16), put64 (self, 1), put64 (self, 2);
}

static Record *
make_sample (const LuRecordLayout *layout, guint flags)
{
  guint64 type = layout->sample_type;
  Record *self = begin (PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

  put_fields_before_stacks (self, type);
  if (type & PERF_SAMPLE_READ)
    put_read_values (self, layout->read_format);
  if (type & PERF_SAMPLE_CALLCHAIN)
    put64 (self, G_N_ELEMENTS (chain)), put (self, chain, sizeof chain);
  if (type & PERF_SAMPLE_RAW)
    put_raw (self);
  if (type & PERF_SAMPLE_BRANCH_STACK)
    put_branches (self, flags);
  if (type & PERF_SAMPLE_REGS_USER)
    put_regs (self, layout->regs_user, flags & NO_REGS);
  if (type & PERF_SAMPLE_STACK_USER)
    put_stack (self, (flags & NO_STACK) ? 0 : 64, 40);
  put_fields_after_stacks (self, type, layout->regs_intr);
  set_size (self, self->size);
  return self;
}

static void
assert_sample (const LuEvent *event, const LuRecordLayout *layout, guint flags)
{
  const LuSample *sample = &event->sample;

  g_assert_cmpint (event->kind, ==, LU_EVENT_SAMPLE);
  g_assert_cmpint (event->pid, ==, 100);
  g_assert_cmpint (event->tid, ==, 101);
  g_assert_cmpuint (event->time, ==, 5000);
  g_assert_cmpint (event->cpu, ==, (layout->sample_type & PERF_SAMPLE_CPU) ? 2 : -1);
  g_assert_cmpuint (sample->ip, ==, 0x401000);
  g_assert_cmpuint (sample->cpumode, ==, PERF_RECORD_MISC_KERNEL);
  g_assert_cmpuint (sample->event_id, ==,
                    (layout->sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)) ? 77 : 0);
  g_assert_cmpmem (sample->callchain, sample->n_callchain * 8, chain, sizeof chain);
  g_assert_cmpuint (sample->regs.abi, ==, (flags & NO_REGS) ? 0 : 2);
  g_assert_cmpuint (sample->regs.n_words, ==,
                    (flags & NO_REGS) ? 0 : __builtin_popcountll (layout->regs_user));
  if (!(flags & NO_REGS))
    g_assert_cmphex (sample->regs.words[sample->regs.n_words - 1], ==,
                     0x7000 + 63 - __builtin_clzll (layout->regs_user));
  g_assert_cmpuint (sample->stack_asked, ==, (flags & NO_STACK) ? 0 : 64);
  g_assert_cmpuint (sample->stack_size, ==, (flags & NO_STACK) ? 0 : 40);
  if (!(flags & NO_STACK))
    g_assert_cmphex (((const guint64 *) sample->stack)[1], ==, 0x57ac0008);
}

static const struct
{
  const char *name;
  guint64 sample_type, read_format, branch_sample_type;
  guint flags;
} sample_cases[] = {
  { "usual", USUAL_FIELDS },
  { "without-registers", USUAL_FIELDS, .flags = NO_REGS | NO_STACK },
  { "without-stack", USUAL_FIELDS, .flags = NO_STACK },
  { "without-identifier", USUAL_FIELDS & ~PERF_SAMPLE_IDENTIFIER },
  { "without-cpu", USUAL_FIELDS & ~PERF_SAMPLE_CPU },
  { "id-in-the-middle", (USUAL_FIELDS & ~PERF_SAMPLE_IDENTIFIER) | PERF_SAMPLE_ID },
  { "old-weight", (ALL_FIELDS & ~PERF_SAMPLE_WEIGHT_STRUCT) | PERF_SAMPLE_WEIGHT },
  { "all-fields", ALL_FIELDS },
  { "all-fields-read-all", ALL_FIELDS, .read_format = 0x17 },
  { "all-fields-read-group", ALL_FIELDS, .read_format = PERF_FORMAT_GROUP },
  { "all-fields-read-group-ids", ALL_FIELDS, .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID },
  { "all-fields-read-group-all", ALL_FIELDS, .read_format = 0x1f },
  { "branch-index", ALL_FIELDS, .branch_sample_type = 1 << 17, .flags = HW_INDEX },
  { "branch-index-and-counters", ALL_FIELDS, .branch_sample_type = 1 << 17 | 1 << 19,
    .flags = HW_INDEX | COUNTERS },
  { "no-branches", ALL_FIELDS, .flags = EMPTY_BRANCHES },
  { "no-branches-no-index", ALL_FIELDS, .branch_sample_type = 1 << 17,
    .flags = EMPTY_BRANCHES | HW_INDEX },
};

static void
test_sample (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  LuRecordLayout layout = {
    .sample_type = sample_cases[i].sample_type,
    .read_format = sample_cases[i].read_format,
    .branch_sample_type = sample_cases[i].branch_sample_type,
    .regs_user = usual_mask,
    .regs_intr = 0x1ff,
    .sample_id_all = TRUE,
  };
  g_autofree Record *record = make_sample (&layout, sample_cases[i].flags);
  g_autofree gpointer bytes = NULL;
  LuEvent event;

  g_assert_true (decode (&layout, record, record->size, &event, &bytes));
  assert_sample (&event, &layout, sample_cases[i].flags);
  assert_prefixes_refused (&layout, record, 1);
}

/* A sample with a wrong word at `word` (counted from the start of the record). */
static const struct
{
  const char *name;
  guint word;
  guint64 value;
} lies[] = {
  /* Usual fields: header, identifier, ip, tid, time, cpu, period, nr, 3 ips, abi, 17 words, size, 8
     words, dyn */
  { "chain-longer-than-record", 7, 1000 },
  { "chain-count-overflows", 7, G_MAXUINT64 / 8 + 1 },
  { "abi-3", 11, 3 },
  { "abi-high-half", 11, 1ull << 32 | 2 },
  { "stack-longer-than-record", 29, 72 },
  { "stack-size-huge", 29, G_MAXUINT64 },
  { "stack-size-not-in-words", 29, 60 },
  { "dyn-size-over-size", 38, 65 },
  { "dyn-size-huge", 38, G_MAXUINT64 },
};

static void
test_sample_lies (void)
{
  LuRecordLayout layout = { .sample_type = USUAL_FIELDS, .regs_user = usual_mask };

  for (gsize i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree Record *record = make_sample (&layout, 0);
      g_autofree gpointer bytes = NULL;
      LuEvent event;

      g_assert_cmpuint (record->size, ==, 39 * 8);
      record->words[lies[i].word] = lies[i].value;
      if (decode (&layout, record, record->size, &event, &bytes))
        g_error ("accepted: %s", lies[i].name);
    }
}

static void
test_header_size (void)
{
  LuRecordLayout layout = { .sample_type = USUAL_FIELDS, .regs_user = usual_mask };
  g_autofree Record *record = make_sample (&layout, 0);
  LuEvent event;

  g_assert_true (lu_record_decode (&layout, record->words, record->size, &event));
  g_assert_false (lu_record_decode (&layout, record->words, record->size + 8, &event));
  set_size (record, record->size - 8);
  g_assert_false (lu_record_decode (&layout, record->words, record->size, &event));
}

/* Side-band */

static const LuRecordLayout sideband = {
  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                 | PERF_SAMPLE_CPU,
  .sample_id_all = TRUE,
};

static void
put_trailer (Record *self)
{
  put32 (self, 100), put32 (self, 101);
  put64 (self, 6000);
  put32 (self, 3), put32 (self, 0);
  put64 (self, 88);
  set_size (self, self->size);
}

static void
decode_sideband (const Record *record, LuEvent *event, gpointer *bytes)
{
  g_assert_true (decode (&sideband, record, record->size, event, bytes));
  g_assert_cmpuint (event->time, ==, 6000);
  g_assert_cmpint (event->cpu, ==, 3);
}

static Record *
make_mmap (guint32 type, guint16 misc, const guint64 *identity, const char *path)
{
  Record *self = begin (type, misc);

  put32 (self, 200), put32 (self, 201);
  put64 (self, 0x7f0000001000);
  put64 (self, 0x5000);
  put64 (self, 0x2000);
  if (identity != NULL)
    {
      put (self, identity, 24);
      put32 (self, PROT_READ | PROT_EXEC);
      put32 (self, MAP_PRIVATE);
    }
  put_string (self, path);
  put_trailer (self);
  return self;
}

static void
assert_mapping (const LuEvent *event)
{
  g_assert_cmpint (event->kind, ==, LU_EVENT_MMAP);
  g_assert_cmpint (event->pid, ==, 200);
  g_assert_cmpint (event->tid, ==, 201);
  g_assert_cmphex (event->mmap.start, ==, 0x7f0000001000);
  g_assert_cmphex (event->mmap.length, ==, 0x5000);
  g_assert_cmphex (event->mmap.file_offset, ==, 0x2000);
  g_assert_cmpstr (event->mmap.path, ==, "/usr/lib/libm.so.6");
  g_assert_false (event->mmap.is_kernel);
}

static void
test_mmap (void)
{
  g_autofree Record *code = make_mmap (PERF_RECORD_MMAP, 2, NULL, "/usr/lib/libm.so.6");
  g_autofree Record *data = make_mmap (PERF_RECORD_MMAP, 2 | 1 << 13, NULL, "/usr/lib/libm.so.6");
  g_autofree gpointer code_bytes = NULL, data_bytes = NULL;
  LuEvent event;

  decode_sideband (code, &event, &code_bytes);
  assert_mapping (&event);
  g_assert_true (event.mmap.prot & PROT_EXEC);
  g_assert_false (event.mmap.has_inode);
  decode_sideband (data, &event, &data_bytes);
  assert_mapping (&event);
  g_assert_false (event.mmap.prot & PROT_EXEC);
}

static void
test_mmap2_inode (void)
{
  static const guint64 identity[] = { 8 | 1ull << 32, 4711, 12 };
  g_autofree Record *record = make_mmap (PERF_RECORD_MMAP2, 2, identity, "/usr/lib/libm.so.6");
  g_autofree gpointer bytes = NULL;
  LuEvent event;

  decode_sideband (record, &event, &bytes);
  assert_mapping (&event);
  g_assert_true (event.mmap.has_inode);
  g_assert_cmpuint (event.mmap.major, ==, 8);
  g_assert_cmpuint (event.mmap.minor, ==, 1);
  g_assert_cmpuint (event.mmap.inode, ==, 4711);
  g_assert_cmpuint (event.mmap.inode_generation, ==, 12);
  g_assert_cmpuint (event.mmap.build_id_size, ==, 0);
  g_assert_cmpuint (event.mmap.prot, ==, PROT_READ | PROT_EXEC);
  g_assert_cmpuint (event.mmap.flags, ==, MAP_PRIVATE);
  assert_prefixes_refused (&sideband, record, 1);
}

static void
test_mmap2_build_id (void)
{
  guint64 identity[3];
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  memset (identity, 0xc5, sizeof identity);
  memcpy (identity, &(guint8){ 20 }, 1);
  g_autofree Record *record =
      make_mmap (PERF_RECORD_MMAP2, 2 | 1 << 14, identity, "/usr/lib/libm.so.6");
  decode_sideband (record, &event, &bytes);
  assert_mapping (&event);
  g_assert_false (event.mmap.has_inode);
  g_assert_cmpuint (event.mmap.build_id_size, ==, 20);
  g_assert_cmpuint (event.mmap.build_id[19], ==, 0xc5);

  ((guint8 *) record->words)[40] = 21;
  g_assert_false (decode (&sideband, record, record->size, &event, &bytes2));
}

static void
test_mmap_wraps (void)
{
  g_autofree Record *user = make_mmap (PERF_RECORD_MMAP, 2, NULL, "/a");
  g_autofree Record *kernel = make_mmap (PERF_RECORD_MMAP, 1, NULL, "[kernel.kallsyms]_text");
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  user->words[3] = kernel->words[3] = G_MAXUINT64;
  g_assert_false (decode (&sideband, user, user->size, &event, &bytes));
  g_assert_true (decode (&sideband, kernel, kernel->size, &event, &bytes2));
  g_assert_true (event.mmap.is_kernel);
  g_assert_cmphex (event.mmap.start + event.mmap.length, ==, G_MAXUINT64);
}

/* The path does not end inside the record: the bytes after it belong to the trailer. */
static void
test_mmap_path_without_end (void)
{
  g_autofree Record *record = make_mmap (PERF_RECORD_MMAP, 2, NULL, "/1234567890123");
  g_autofree gpointer bytes = NULL;
  LuEvent event;

  memset ((guint8 *) record->words + 40, 'x', 16);
  g_assert_false (decode (&sideband, record, record->size, &event, &bytes));
}

static void
test_comm (void)
{
  g_autofree Record *rename = begin (PERF_RECORD_COMM, 0);
  g_autofree Record *exec = begin (PERF_RECORD_COMM, 1 << 13);
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  put32 (rename, 5), put32 (rename, 6), put_string (rename, "worker"), put_trailer (rename);
  put32 (exec, 5), put32 (exec, 5), put_string (exec, "python3"), put_trailer (exec);
  decode_sideband (rename, &event, &bytes);
  g_assert_cmpint (event.kind, ==, LU_EVENT_COMM);
  g_assert_cmpint (event.pid, ==, 5);
  g_assert_cmpint (event.tid, ==, 6);
  g_assert_cmpstr (event.comm.name, ==, "worker");
  g_assert_false (event.comm.is_exec);
  assert_prefixes_refused (&sideband, rename, 1);
  decode_sideband (exec, &event, &bytes2);
  g_assert_cmpstr (event.comm.name, ==, "python3");
  g_assert_true (event.comm.is_exec);
}

static void
test_tasks (void)
{
  static const struct
  {
    guint32 type;
    LuEventKind kind;
  } cases[] = { { PERF_RECORD_FORK, LU_EVENT_FORK }, { PERF_RECORD_EXIT, LU_EVENT_EXIT } };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree Record *record = begin (cases[i].type, 0);
      g_autofree gpointer bytes = NULL;
      LuEvent event;

      for (guint32 id = 10; id < 14; id++)
        put32 (record, id);
      put64 (record, 5999);
      put_trailer (record);
      decode_sideband (record, &event, &bytes);
      g_assert_cmpint (event.kind, ==, cases[i].kind);
      g_assert_cmpint (event.pid, ==, 10);
      g_assert_cmpint (event.task.parent_pid, ==, 11);
      g_assert_cmpint (event.tid, ==, 12);
      g_assert_cmpint (event.task.parent_tid, ==, 13);
      assert_prefixes_refused (&sideband, record, 1);
    }
}

/* Without sample_id_all a record has no trailer, and the time in the body is used. */
static void
test_without_trailer (void)
{
  LuRecordLayout layout = { .sample_type = USUAL_FIELDS };
  g_autofree Record *record = begin (PERF_RECORD_FORK, 0);
  g_autofree gpointer bytes = NULL;
  LuEvent event;

  for (guint32 id = 10; id < 14; id++)
    put32 (record, id);
  put64 (record, 5999);
  g_assert_true (decode (&layout, record, record->size, &event, &bytes));
  g_assert_cmpuint (event.time, ==, 5999);
  g_assert_cmpint (event.cpu, ==, -1);
}

static void
test_losses (void)
{
  g_autofree Record *lost = begin (PERF_RECORD_LOST, 0);
  g_autofree Record *samples = begin (PERF_RECORD_LOST_SAMPLES, 0);
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  put64 (lost, 42), put64 (lost, 7), put_trailer (lost);
  put64 (samples, 9), put_trailer (samples);
  decode_sideband (lost, &event, &bytes);
  g_assert_cmpint (event.kind, ==, LU_EVENT_LOST);
  g_assert_cmpuint (event.lost.event_id, ==, 42);
  g_assert_cmpuint (event.lost.count, ==, 7);
  g_assert_cmpint (event.pid, ==, 100);
  decode_sideband (samples, &event, &bytes2);
  g_assert_cmpint (event.kind, ==, LU_EVENT_LOST_SAMPLES);
  g_assert_cmpuint (event.lost.count, ==, 9);
}

static void
test_throttling (void)
{
  g_autofree Record *record = begin (PERF_RECORD_THROTTLE, 0);
  g_autofree gpointer bytes = NULL;
  LuEvent event;

  put64 (record, 1), put64 (record, 2), put64 (record, 3), put_trailer (record);
  decode_sideband (record, &event, &bytes);
  g_assert_cmpint (event.kind, ==, LU_EVENT_THROTTLE);
  ((guint32 *) bytes)[0] = PERF_RECORD_UNTHROTTLE;
  g_assert_true (lu_record_decode (&sideband, bytes, record->size, &event));
  g_assert_cmpint (event.kind, ==, LU_EVENT_UNTHROTTLE);
}

static void
test_namespaces (void)
{
  g_autofree Record *record = begin (PERF_RECORD_NAMESPACES, 0);
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  put32 (record, 5), put32 (record, 6), put64 (record, 7);
  for (guint64 i = 0; i < 7; i++)
    put64 (record, 4), put64 (record, 4026531840 + i);
  put_trailer (record);
  decode_sideband (record, &event, &bytes);
  g_assert_cmpint (event.kind, ==, LU_EVENT_NAMESPACES);
  g_assert_cmpint (event.tid, ==, 6);
  g_assert_cmpuint (event.namespaces.mount_inode, ==, 4026531845);
  record->words[2] = G_MAXUINT64 / 16 + 8;
  g_assert_false (decode (&sideband, record, record->size, &event, &bytes2));
}

static void
test_deferred_chain (void)
{
  g_autofree Record *record = begin (LU_RECORD_CALLCHAIN_DEFERRED, 0);
  g_autofree gpointer bytes = NULL, bytes2 = NULL;
  LuEvent event;

  put64 (record, 0xc00c1e), put64 (record, 2), put64 (record, PERF_CONTEXT_USER);
  put64 (record, 0x401000), put_trailer (record);
  decode_sideband (record, &event, &bytes);
  g_assert_cmpint (event.kind, ==, LU_EVENT_DEFERRED_CHAIN);
  g_assert_cmphex (event.deferred_chain.cookie, ==, 0xc00c1e);
  g_assert_cmpuint (event.deferred_chain.n_words, ==, 2);
  g_assert_cmpmem (event.deferred_chain.words + 8, 8, &record->words[4], 8);
  record->words[2] = 3; /* beyond the trailer */
  g_assert_false (decode (&sideband, record, record->size, &event, &bytes2));
}

static void
test_unknown_types (void)
{
  static const guint32 types[] = {
    0, PERF_RECORD_SWITCH, PERF_RECORD_BPF_EVENT, 23, 63, 64, 68, 81, 4096, G_MAXUINT32
  };

  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autofree Record *record = begin (types[i], 0xffff);
      g_autofree gpointer bytes = NULL;
      LuEvent event;

      put_trailer (record);
      g_assert_true (decode (&sideband, record, record->size, &event, &bytes));
      g_assert_cmpint (event.kind, ==, LU_EVENT_NONE);
    }
}

static void
test_event_id (void)
{
  LuRecordLayout middle = {
    .sample_type = (USUAL_FIELDS & ~PERF_SAMPLE_IDENTIFIER) | PERF_SAMPLE_ID | PERF_SAMPLE_ADDR,
    .regs_user = usual_mask,
    .sample_id_all = TRUE,
  };
  LuRecordLayout first = { .sample_type = USUAL_FIELDS, .regs_user = usual_mask };
  LuRecordLayout none = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID };
  g_autofree Record *in_middle = make_sample (&middle, 0);
  g_autofree Record *at_first = make_sample (&first, 0);
  g_autofree Record *comm = begin (PERF_RECORD_COMM, 0);
  g_autofree Record *comm_middle = begin (PERF_RECORD_COMM, 0);
  guint64 id = 0;

  g_assert_true (lu_record_event_id (&middle, in_middle->words, in_middle->size, &id));
  g_assert_cmpuint (id, ==, 77);
  id = 0;
  g_assert_true (lu_record_event_id (&first, at_first->words, at_first->size, &id));
  g_assert_cmpuint (id, ==, 77);
  g_assert_false (lu_record_event_id (&none, at_first->words, at_first->size, &id));

  put64 (comm, 0), put_string (comm, "x"), put_trailer (comm);
  g_assert_true (lu_record_event_id (&sideband, comm->words, comm->size, &id));
  g_assert_cmpuint (id, ==, 88);
  g_assert_false (lu_record_event_id (&first, comm->words, comm->size, &id));

  put64 (comm_middle, 0), put_string (comm_middle, "x"), put64 (comm_middle, 0);
  put64 (comm_middle, 6000), put64 (comm_middle, 99), put64 (comm_middle, 3);
  set_size (comm_middle, comm_middle->size);
  g_assert_true (lu_record_event_id (&middle, comm_middle->words, comm_middle->size, &id));
  g_assert_cmpuint (id, ==, 99);
  set_size (comm_middle, 8);
  g_assert_false (lu_record_event_id (&middle, comm_middle->words, 8, &id));
}

static void
test_layout_from_attr (void)
{
  struct perf_event_attr attr = {
    .sample_type = USUAL_FIELDS,
    .read_format = PERF_FORMAT_GROUP,
    .branch_sample_type = 1 << 17,
    .sample_regs_user = usual_mask,
    .sample_regs_intr = 0xff,
    .sample_id_all = 1,
  };
  LuRecordLayout layout;

  lu_record_layout_init (&layout, &attr);
  g_assert_cmphex (layout.sample_type, ==, USUAL_FIELDS);
  g_assert_cmphex (layout.read_format, ==, PERF_FORMAT_GROUP);
  g_assert_cmphex (layout.branch_sample_type, ==, 1 << 17);
  g_assert_cmphex (layout.regs_user, ==, usual_mask);
  g_assert_cmphex (layout.regs_intr, ==, 0xff);
  g_assert_true (layout.sample_id_all);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_INDEXED_CASES ("/record/sample", sample_cases, test_sample);
  g_test_add_func ("/record/sample-lies", test_sample_lies);
  g_test_add_func ("/record/header-size", test_header_size);
  g_test_add_func ("/record/mmap", test_mmap);
  g_test_add_func ("/record/mmap2-inode", test_mmap2_inode);
  g_test_add_func ("/record/mmap2-build-id", test_mmap2_build_id);
  g_test_add_func ("/record/mmap-wraps", test_mmap_wraps);
  g_test_add_func ("/record/mmap-path-without-end", test_mmap_path_without_end);
  g_test_add_func ("/record/comm", test_comm);
  g_test_add_func ("/record/tasks", test_tasks);
  g_test_add_func ("/record/without-trailer", test_without_trailer);
  g_test_add_func ("/record/losses", test_losses);
  g_test_add_func ("/record/throttling", test_throttling);
  g_test_add_func ("/record/namespaces", test_namespaces);
  g_test_add_func ("/record/deferred-chain", test_deferred_chain);
  g_test_add_func ("/record/unknown-types", test_unknown_types);
  g_test_add_func ("/record/event-id", test_event_id);
  g_test_add_func ("/record/layout-from-attr", test_layout_from_attr);
  return g_test_run ();
}
