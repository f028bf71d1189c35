/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-record-bpf-unwound.c - records of stacks that BPF unwound: correct ones, and ones with a
 * wrong field or size. */

#include "input/record.h"
#include "lu/bpf.h"

#include <string.h>

#define N_FRAMES 4

typedef struct
{
  guint64 words[256];
  gsize size;
} Record;

static const LuRecordLayout layout = {
  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU
                 | PERF_SAMPLE_RAW,
  .sample_id_all = TRUE,
  .is_output = TRUE,
};

static const struct lu_bpf_record usual = {
  .version = LU_BPF_VERSION,
  .status = LU_STATUS_COMPLETE,
  .pid = 10,
  .tid = 11,
  .serial = 77,
  .flags = LU_BPF_RECORD_KERNEL,
  .walk_ns = 900,
  .n_kernel = 1,
  .n_user = N_FRAMES - 1,
  .ip = 0xffffffff81000010,
  .sp = 0x7ffc00001000,
};

static const guint64 pcs[N_FRAMES] = {
  0xffffffff81000010,
  0x401000,
  0x401100 | LU_BPF_PC_RETURN,
  0x401200 | LU_BPF_PC_RETURN | LU_BPF_PC_INFERRED,
};

static void
put (Record *self, gconstpointer bytes, gsize size)
{
  memcpy ((guint8 *) self->words + self->size, bytes, size);
  self->size += size;
}

/* Two pieces, and the kernel's padding. */
static void
make_of (Record *self, gconstpointer head, gsize head_size, gconstpointer rest, gsize rest_size)
{
  struct perf_event_header header = { .type = PERF_RECORD_SAMPLE };
  guint64 identifier = 5, time = 1000;
  guint32 task[2] = { 10, 11 }, cpu[2] = { 3, 0 };
  guint32 raw_size = (guint32) (head_size + rest_size);

  memset (self, 0, sizeof *self);
  raw_size += (8 - (raw_size + 4) % 8) % 8;
  put (self, &header, sizeof header);
  put (self, &identifier, 8);
  put (self, task, 8);
  put (self, &time, 8);
  put (self, cpu, 8);
  put (self, &raw_size, 4);
  put (self, head, head_size);
  put (self, rest, rest_size);
  self->size += raw_size - head_size - rest_size;
  header.size = (guint16) self->size;
  memcpy (self->words, &header, sizeof header);
}

/* pcs_size: bytes of addresses. */
static void
make (Record *self, const struct lu_bpf_record *record, gsize pcs_size)
{
  make_of (self, record, sizeof *record, pcs, pcs_size);
}

static gboolean
decode (const Record *record, LuEvent *event)
{
  return lu_record_decode (&layout, record->words, record->size, event);
}

static void
test_usual (void)
{
  Record record;
  LuEvent event;
  guint64 id;

  make (&record, &usual, sizeof pcs);
  g_assert_true (decode (&record, &event));
  g_assert_cmpint (event.kind, ==, LU_EVENT_BPF_UNWOUND);
  g_assert_cmpint (event.pid, ==, 10);
  g_assert_cmpint (event.tid, ==, 11);
  g_assert_cmpint (event.cpu, ==, 3);
  g_assert_cmpuint (event.time, ==, 1000);
  g_assert_cmpint (event.bpf_unwound.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (event.bpf_unwound.serial, ==, 77);
  g_assert_cmphex (event.bpf_unwound.sp, ==, usual.sp);
  g_assert_cmphex (event.bpf_unwound.ip, ==, usual.ip);
  g_assert_cmpuint (event.bpf_unwound.flags, ==, LU_BPF_RECORD_KERNEL);
  g_assert_cmpuint (event.bpf_unwound.walk_ns, ==, 900);
  g_assert_cmpuint (event.bpf_unwound.n_kernel, ==, 1);
  g_assert_cmpuint (event.bpf_unwound.n_user, ==, 3);
  g_assert_cmpmem (event.bpf_unwound.pcs, sizeof pcs, pcs, sizeof pcs);
  g_assert_true (lu_record_event_id (&layout, record.words, record.size, &id));
  g_assert_cmpuint (id, ==, 5);
}

/* Sysprof's events do not say the CPU. */
static void
test_without_cpu (void)
{
  LuRecordLayout other = layout;
  Record record;
  LuEvent event;

  make (&record, &usual, sizeof pcs);
  other.sample_type &= ~(guint64) PERF_SAMPLE_CPU;
  g_assert_false (lu_record_decode (&other, record.words, record.size, &event));
  memmove (&record.words[4], &record.words[5], record.size - 40);
  record.size -= 8;
  ((struct perf_event_header *) record.words)->size = (guint16) record.size;
  g_assert_true (lu_record_decode (&other, record.words, record.size, &event));
  g_assert_cmpint (event.cpu, ==, -1);
  g_assert_cmpuint (event.bpf_unwound.serial, ==, 77);
}

/* A sentence, and the fields that make the record invalid. */
static const struct
{
  const char *name;
  guint32 version, status;
  guint16 n_kernel, n_user;
} lies[] = {
  { "another version", LU_BPF_VERSION + 1, 0, 1, N_FRAMES - 1 },
  { "a state that a walk cannot end in", LU_BPF_VERSION, LU_STATUS_LOST, 0, N_FRAMES },
  { "a state that is none", LU_BPF_VERSION, 4711, 0, N_FRAMES },
  { "no user frame", LU_BPF_VERSION, 0, N_FRAMES, 0 },
  { "more frames than there are bytes", LU_BPF_VERSION, 0, 0, N_FRAMES + 1 },
  { "fewer frames than there are bytes", LU_BPF_VERSION, 0, 0, N_FRAMES - 1 },
  { "very many frames", LU_BPF_VERSION, 0, 0, LU_BPF_MAX_FRAMES + 1 },
  { "very many kernel frames", LU_BPF_VERSION, 0, LU_BPF_MAX_KERNEL + 1, 1 },
};

static void
test_lies (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      struct lu_bpf_record lie = usual;
      Record record;
      LuEvent event;

      g_test_message ("%s", lies[i].name);
      lie.version = lies[i].version;
      lie.status = lies[i].status;
      lie.n_kernel = lies[i].n_kernel;
      lie.n_user = lies[i].n_user;
      make (&record, &lie, sizeof pcs);
      g_assert_false (decode (&record, &event));
    }
}

/* Every prefix, with a header of that size. */
static void
test_cut_off (void)
{
  Record record;
  LuEvent event;

  make (&record, &usual, sizeof pcs);
  for (gsize size = 8; size < record.size; size++)
    {
      ((struct perf_event_header *) record.words)->size = (guint16) size;
      g_assert_false (lu_record_decode (&layout, record.words, size, &event));
    }
}

/* The size of the raw data differs from that of the record. */
static void
test_raw_size (void)
{
  const guint32 sizes[] = { 0, 4, 63, 64, 100, 4096, G_MAXUINT32 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      Record record;
      LuEvent event;

      make (&record, &usual, sizeof pcs);
      memcpy ((guint8 *) record.words + 40, &sizes[i], 4);
      if (sizes[i] != 100)
        g_assert_false (decode (&record, &event));
    }
}

static void
test_arguments (void)
{
  static const char text[] = "true\0two words";
  /* Up to 7 bytes after the text are padding. */
  static const struct
  {
    const char *name;
    guint32 size;
    gboolean is_good;
  } cases[] = {
    { "as it is", sizeof text, TRUE },
    { "nothing", 0, FALSE },
    { "more than there is", sizeof text + 8, FALSE },
    { "less than there is", sizeof text - 8, FALSE },
    { "more than may be told", LU_BPF_MAX_ARGUMENTS + 1, FALSE },
    { "more than anything", G_MAXUINT32, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      struct lu_bpf_arguments head = { .version = LU_BPF_ARGUMENTS_VERSION, .size = cases[i].size };
      Record record;
      LuEvent event;

      g_test_message ("%s", cases[i].name);
      make_of (&record, &head, sizeof head, text, sizeof text);
      g_assert_cmpint (decode (&record, &event), ==, cases[i].is_good);
      if (!cases[i].is_good)
        continue;
      g_assert_cmpint (event.kind, ==, LU_EVENT_ARGUMENTS);
      g_assert_cmpint (event.pid, ==, 10);
      g_assert_cmpuint (event.time, ==, 1000);
      g_assert_cmpmem (event.arguments.text, event.arguments.size, text, sizeof text);
      for (gsize size = 8; size < record.size; size++)
        {
          ((struct perf_event_header *) record.words)->size = (guint16) size;
          g_assert_false (lu_record_decode (&layout, record.words, size, &event));
        }
    }
}

static gboolean
decode_chain (struct lu_interp_chain head, guint n_frames, LuEvent *event)
{
  static const struct lu_interp_frame frames[] = { { 0x1000, 7, 20 },
                                                   { 0x2000 | LU_INTERP_ENTRY, 8, 40 } };
  static Record record;

  head.version = LU_INTERP_CHAIN_VERSION;
  make_of (&record, &head, sizeof head, frames, n_frames * sizeof *frames);
  return decode (&record, event);
}

static void
test_chain (void)
{
  struct lu_interp_chain head = {
    .language = LU_INTERP_PYTHON, .flags = LU_INTERP_CHAIN_CUT, .time = 5, .n_frames = 2
  };
  struct lu_interp_frame frame;
  LuEvent event;

  g_assert_true (decode_chain (head, 2, &event));
  g_assert_cmpint (event.kind, ==, LU_EVENT_INTERP_CHAIN);
  g_assert_cmpint (event.tid, ==, 11);
  g_assert_cmpuint (event.interp_chain.flags, ==, LU_INTERP_CHAIN_CUT);
  g_assert_cmpuint (event.interp_chain.time, ==, 5);
  g_assert_cmpuint (event.interp_chain.n_frames, ==, 2);
  memcpy (&frame, event.interp_chain.frames + sizeof frame, sizeof frame);
  g_assert_cmphex (frame.code, ==, 0x2000 | LU_INTERP_ENTRY);
  g_assert_false (decode_chain (head, 1, &event));
  head.n_frames = 1;
  g_assert_false (decode_chain (head, 2, &event));
  head.n_frames = G_MAXUINT32;
  g_assert_false (decode_chain (head, 2, &event));
  head.n_frames = 0;
  g_assert_true (decode_chain (head, 0, &event));
  head.language = LU_INTERP_NONE;
  g_assert_false (decode_chain (head, 0, &event));
}

static gboolean
decode_function (struct lu_interp_function head, gsize n_text, LuEvent *event)
{
  static guint8 text[LU_INTERP_MAX_NAME + LU_INTERP_MAX_PATH + 8] = "leaf";
  static Record record;

  memcpy (text + LU_INTERP_MAX_NAME, "/a.py\2\1", 7);
  head.version = LU_INTERP_FUNCTION_VERSION;
  make_of (&record, &head, sizeof head, text, n_text);
  return decode (&record, event);
}

static void
test_function (void)
{
  struct lu_interp_function head = { .language = LU_INTERP_PYTHON,
                                     .code = 0x1000,
                                     .check = 7,
                                     .first_line = 12,
                                     .name = { .size = 4, .kind = 1 },
                                     .path = { .size = 5, .kind = 1 },
                                     .lines = { .size = 2, .format = LU_PYTHON_LINES_DELTAS } };
  const gsize size = LU_INTERP_MAX_NAME + 7;
  LuEvent event;

  g_assert_true (decode_function (head, size, &event));
  g_assert_cmpint (event.kind, ==, LU_EVENT_INTERP_FUNCTION);
  g_assert_cmphex (event.interp_function.code, ==, 0x1000);
  g_assert_cmpuint (event.interp_function.first_line, ==, 12);
  g_assert_cmpmem (event.interp_function.name_text, event.interp_function.name.size, "leaf", 4);
  g_assert_cmpmem (event.interp_function.path_text, event.interp_function.path.size, "/a.py", 5);
  g_assert_cmpmem (event.interp_function.lines_bytes, event.interp_function.lines.size, "\2\1", 2);
  g_assert_false (decode_function (head, LU_INTERP_MAX_NAME, &event));
  g_assert_false (decode_function (head, size + 64, &event));
  head.name.size = LU_INTERP_MAX_NAME + 1;
  g_assert_false (decode_function (head, size, &event));
  head.name.size = 4;
  head.lines.size = 11;
  g_assert_false (decode_function (head, size, &event));
  head.lines.size = 0;
  head.path.size = LU_INTERP_MAX_PATH + 1;
  g_assert_false (decode_function (head, LU_INTERP_MAX_NAME + LU_INTERP_MAX_PATH, &event));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/record-walked/arguments", test_arguments);
  g_test_add_func ("/record-walked/chain", test_chain);
  g_test_add_func ("/record-walked/function", test_function);
  g_test_add_func ("/record-walked/usual", test_usual);
  g_test_add_func ("/record-walked/without-cpu", test_without_cpu);
  g_test_add_func ("/record-walked/lies", test_lies);
  g_test_add_func ("/record-walked/cut-off", test_cut_off);
  g_test_add_func ("/record-walked/raw-size", test_raw_size);
  return g_test_run ();
}
