/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-perf-data.c - perf's own records and sections, made by hand: which ones are used, which are
 * skipped with the data after them, and the errors for damaged headers. Recorded files are in
 * test-source-perf-data.c. */

#include "base/error.h"
#include "input/perf-data.h"
#include "input/source-perf-data.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_TYPE                                                                                 \
  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME                    \
   | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

enum
{
  TRACING_DATA = 66,
  BUILD_ID = 67,
  AUXTRACE = 71,
  HEADER_ATTR = 64,
  FEATURE = 80,
  COMPRESSED2 = 83,
  FEATURE_ARCH = 6,
  FEATURE_COMMAND = 11,
  FEATURE_EVENTS = 12,
};

static void
put (GByteArray *self, gconstpointer bytes, gsize size)
{
  g_byte_array_append (self, bytes, (guint) size);
}

static void
put32 (GByteArray *self, guint32 value)
{
  put (self, &value, sizeof value);
}

static void
put64 (GByteArray *self, guint64 value)
{
  put (self, &value, sizeof value);
}

static void
put_string (GByteArray *self, const char *string)
{
  put32 (self, (guint32) strlen (string) + 1);
  put (self, string, strlen (string) + 1);
}

static GByteArray *
begin_pipe (void)
{
  GByteArray *self = g_byte_array_new ();

  put (self, "PERFILE2", 8);
  put64 (self, 16);
  return self;
}

/* A record of `body`, which is freed. */
static void
put_record (GByteArray *self, guint32 type, guint16 misc, GByteArray *body)
{
  put (self, &type, 4);
  put (self, &misc, 2);
  put (self, &(guint16){ (guint16) (8 + body->len) }, 2);
  put (self, body->data, body->len);
  g_byte_array_unref (body);
}

static void
put_attr (GByteArray *self, guint64 sample_type, guint64 id)
{
  GByteArray *body = g_byte_array_new ();
  struct perf_event_attr attr = { .size = sizeof attr,
                                  .sample_type = sample_type,
                                  .sample_id_all = 1,
                                  .sample_stack_user = 64,
                                  .sample_regs_user = 0xff };

  put (body, &attr, sizeof attr);
  put64 (body, id);
  put_record (self, HEADER_ATTR, 0, body);
}

static void
put_feature (GByteArray *self, guint64 feature, GByteArray *bytes)
{
  GByteArray *body = g_byte_array_new ();

  put64 (body, feature);
  put (body, bytes->data, bytes->len);
  g_byte_array_unref (bytes);
  put_record (self, FEATURE, 0, body);
}

static void
put_text_feature (GByteArray *self, guint64 feature, const char *text)
{
  GByteArray *bytes = g_byte_array_new ();

  put_string (bytes, text);
  put_feature (self, feature, bytes);
}

static void
put_build_id (GByteArray *self, guint16 misc, guint8 first_byte, guint8 size, const char *path)
{
  GByteArray *body = g_byte_array_new ();
  guint8 field[24] = { first_byte, [20] = size };

  put32 (body, 1);
  put (body, field, sizeof field);
  put (body, path, strlen (path) + 1);
  put_record (self, BUILD_ID, misc, body);
}

/* A COMM with the trailer of STACK_TYPE. */
static void
put_comm (GByteArray *self, const char name[8], guint64 time, guint64 id)
{
  GByteArray *body = g_byte_array_new ();

  put32 (body, 1), put32 (body, 1);
  put (body, name, 8);
  put32 (body, 1), put32 (body, 1);
  put64 (body, time);
  put64 (body, id);
  put_record (self, PERF_RECORD_COMM, 0, body);
}

static int
memory_file (const GByteArray *bytes)
{
  int fd = memfd_create ("perf.data", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, bytes->data, bytes->len), ==, bytes->len);
  return fd;
}

static LuPerfData *
open_bytes (const GByteArray *bytes)
{
  g_autoptr (GError) error = NULL;
  LuPerfData *file = lu_perf_data_new_for_fd (memory_file (bytes), "made", &error);

  g_assert_no_error (error);
  return file;
}

static void
expect_type (LuPerfData *file, guint32 type)
{
  LuRawRecord record;
  gboolean readable;

  g_assert_cmpint (lu_perf_data_next (file, &record, &readable), ==, LU_PERF_RECORD);
  g_assert_cmpuint (record.type, ==, type);
  g_assert_true (readable);
}

static void
expect_end (LuPerfData *file, const char *trouble)
{
  LuRawRecord record;
  gboolean readable;

  g_assert_cmpint (lu_perf_data_next (file, &record, &readable), ==, LU_PERF_END);
  g_assert_cmpint (lu_perf_data_next (file, &record, &readable), ==, LU_PERF_END);
  if (trouble == NULL)
    g_assert_cmpstr (file->trouble, ==, NULL);
  else
    g_assert_nonnull (strstr (file->trouble, trouble));
}

static void
test_events (void)
{
  g_autoptr (GByteArray) bytes = begin_pipe ();
  GByteArray *description = g_byte_array_new ();
  g_autoptr (LuPerfData) file = NULL;

  put_attr (bytes, PERF_SAMPLE_IDENTIFIER, 70);
  put_attr (bytes, STACK_TYPE, 7);
  put32 (description, 2), put32 (description, 8);
  put64 (description, 0), put32 (description, 1), put_string (description, "first");
  put64 (description, 70);
  put64 (description, 0), put32 (description, 0), put_string (description, "sec\xffond");
  put_feature (bytes, FEATURE_EVENTS, description);
  put_comm (bytes, "one\0\0\0\0", 5, 7);

  file = open_bytes (bytes);
  g_assert_cmpuint (file->events.events->len, ==, 0);
  expect_type (file, PERF_RECORD_COMM);
  g_assert_cmpuint (file->events.events->len, ==, 2);
  g_assert_cmpstr (lu_perf_events_get (&file->events, 0)->name, ==, "first");
  g_assert_true (g_utf8_validate (lu_perf_events_get (&file->events, 1)->name, -1, NULL));
  g_assert_true (lu_perf_events_find (&file->events, 7) == lu_perf_events_get (&file->events, 1));
  g_assert_true (lu_perf_events_find (&file->events, 70) == lu_perf_events_get (&file->events, 0));
  g_assert_null (lu_perf_events_find (&file->events, 8));
  g_assert_cmphex (lu_perf_events_get (&file->events, 1)->layout.sample_type, ==, STACK_TYPE);
  g_assert_cmphex (lu_perf_events_get (&file->events, 1)->layout.regs_user, ==, 0xff);
  expect_end (file, NULL);
}

static void
test_build_ids (void)
{
  enum
  {
    USER = PERF_RECORD_MISC_USER,
    SIZED = USER | 1 << 15
  };
  g_autoptr (GByteArray) bytes = begin_pipe ();
  g_autoptr (LuPerfData) file = NULL;
  guint8 size = 0;

  put_build_id (bytes, USER, 1, 0, "/plain");
  put_build_id (bytes, SIZED, 2, 8, "/short");
  put_build_id (bytes, SIZED, 3, 21, "/too-long");
  put_build_id (bytes, SIZED, 3, 0, "/none");
  put_build_id (bytes, USER, 4, 0, "/two");
  put_build_id (bytes, USER, 5, 0, "/two");
  put_build_id (bytes, USER, 6, 0, "/same");
  put_build_id (bytes, USER, 6, 0, "/same");
  put_build_id (bytes, PERF_RECORD_MISC_KERNEL, 7, 0, "/lib/modules/x.ko");
  put_build_id (bytes, USER, 8, 0, "[vdso]");
  file = open_bytes (bytes);
  expect_end (file, NULL);

  g_assert_cmpuint (lu_perf_features_find_build_id (&file->features, "/plain", &size)[0], ==, 1);
  g_assert_cmpuint (size, ==, 20);
  g_assert_cmpuint (lu_perf_features_find_build_id (&file->features, "/short", &size)[0], ==, 2);
  g_assert_cmpuint (size, ==, 8);
  g_assert_null (lu_perf_features_find_build_id (&file->features, "/too-long", &size));
  g_assert_null (lu_perf_features_find_build_id (&file->features, "/none", &size));
  g_assert_null (lu_perf_features_find_build_id (&file->features, "/two", &size));
  g_assert_null (lu_perf_features_find_build_id (&file->features, "/absent", &size));
  g_assert_null (lu_perf_features_find_build_id (&file->features, "/lib/modules/x.ko", &size));
  g_assert_cmpuint (lu_perf_features_find_build_id (&file->features, "/same", &size)[0], ==, 6);
  g_assert_cmpuint (lu_perf_features_find_build_id (&file->features, "[vdso]", &size)[0], ==, 8);
}

/* Data after a record can look like anything, here like a record of size 0. */
static void
test_skipped (void)
{
  g_autoptr (GByteArray) bytes = begin_pipe ();
  GByteArray *aux = g_byte_array_new (), *tracing = g_byte_array_new ();
  static const guint8 zeros[5000];
  g_autoptr (LuPerfData) file = NULL;

  put_attr (bytes, STACK_TYPE, 7);
  put64 (aux, sizeof zeros), put64 (aux, 0), put64 (aux, 0), put64 (aux, 0), put64 (aux, 0);
  put_record (bytes, AUXTRACE, 0, aux);
  put (bytes, zeros, sizeof zeros);
  put_comm (bytes, "one\0\0\0\0", 5, 7);
  put32 (tracing, 13); /* padded to 16 */
  put_record (bytes, TRACING_DATA, 0, tracing);
  put (bytes, zeros, 16);
  put_record (bytes, 82, 0, g_byte_array_new ()); /* FINISHED_INIT */
  put_record (bytes, 12345, 0, g_byte_array_new ());
  put_comm (bytes, "two\0\0\0\0", 5, 7);
  put_record (bytes, LU_PERF_FINISHED_ROUND, 0, g_byte_array_new ());
  put (bytes, zeros, 8);

  file = open_bytes (bytes);
  expect_type (file, PERF_RECORD_COMM);
  expect_type (file, PERF_RECORD_COMM);
  expect_type (file, LU_PERF_FINISHED_ROUND);
  expect_end (file, "damaged record");
}

static void
test_features (void)
{
  g_autoptr (GByteArray) bytes = begin_pipe ();
  GByteArray *command = g_byte_array_new (), *liar = g_byte_array_new ();
  g_autoptr (LuPerfData) file = NULL;

  put_text_feature (bytes, FEATURE_ARCH, "riscv64");
  put32 (command, 3), put_string (command, "perf"), put_string (command, "record");
  put_feature (bytes, FEATURE_COMMAND, command); /* one argument fewer than the count says */
  put_text_feature (bytes, 255, "unknown");
  put_text_feature (bytes, G_MAXUINT64, "unknown");
  put32 (liar, G_MAXUINT32);
  put_feature (bytes, FEATURE_ARCH, liar);
  file = open_bytes (bytes);
  expect_end (file, NULL);
  g_assert_cmpstr (file->features.info.arch, ==, "riscv64");
  g_assert_cmpstr (file->features.info.command_line, ==, "perf record");
  g_assert_null (file->features.info.os_release);
}

static void
test_other_architecture (void)
{
  g_autoptr (GByteArray) bytes = begin_pipe ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = NULL;

  put_attr (bytes, STACK_TYPE, 7);
  put_text_feature (bytes, FEATURE_ARCH, "riscv64");
  put_comm (bytes, "one\0\0\0\0", 5, 7);
  source = lu_source_perf_data_new_for_fd (memory_file (bytes), "made", &error);
  g_assert_null (source);
  g_assert_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "riscv64"));
}

/* Bytes that are not a zstd stream, and a size larger than the record. */
static void
test_bad_compression (void)
{
  for (guint64 size = 8; size <= 1 << 20; size <<= 17)
    {
      g_autoptr (GByteArray) bytes = begin_pipe ();
      GByteArray *body = g_byte_array_new ();
      g_autoptr (LuPerfData) file = NULL;
      LuRawRecord record;
      gboolean readable;

      put64 (body, size), put64 (body, 0x1234567890);
      put_record (bytes, COMPRESSED2, 0, body);
      file = open_bytes (bytes);
      g_assert_cmpint (lu_perf_data_next (file, &record, &readable), ==, LU_PERF_END);
      g_assert_nonnull (file->trouble);
    }
}

/* A header of 13 words with a wrong word at `word`. */
static const struct
{
  guint word;
  guint64 value;
  const char *message;
} lies[] = {
  { 2, 8, "event attributes of" },
  { 2, 1 << 20, "event attributes of" },
  { 3, 1 << 20, "outside of the file" },
  { 4, G_MAXUINT64, "outside of the file" },
  { 5, 1 << 20, "cut off before its records" },
  { 13 + (sizeof (struct perf_event_attr) / 8), 1 << 20, "event ids" },
};

static GByteArray *
make_file (void)
{
  GByteArray *self = g_byte_array_new ();
  struct perf_event_attr attr = { .size = sizeof attr, .sample_type = STACK_TYPE };
  gsize end = 104 + sizeof attr + 16;

  put (self, "PERFILE2", 8);
  put64 (self, 104), put64 (self, sizeof attr + 16);
  put64 (self, 104), put64 (self, sizeof attr + 16);
  put64 (self, end), put64 (self, 8);
  for (int i = 0; i < 6; i++)
    put64 (self, 0);
  put (self, &attr, sizeof attr);
  put64 (self, 0), put64 (self, 0);
  put_record (self, LU_PERF_FINISHED_ROUND, 0, g_byte_array_new ());
  return self;
}

static void
test_header (void)
{
  g_autoptr (GByteArray) good = make_file ();
  g_autoptr (LuPerfData) file = open_bytes (good);

  expect_type (file, LU_PERF_FINISHED_ROUND);
  expect_end (file, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autoptr (GByteArray) bytes = make_file ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LuPerfData) refused = NULL;

      memcpy (bytes->data + lies[i].word * 8, &lies[i].value, 8);
      refused = lu_perf_data_new_for_fd (memory_file (bytes), "made", &error);
      g_assert_null (refused);
      g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
      if (strstr (error->message, lies[i].message) == NULL)
        g_error ("case %zu: %s", i, error->message);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/perf-data/events", test_events);
  g_test_add_func ("/perf-data/build-ids", test_build_ids);
  g_test_add_func ("/perf-data/skipped", test_skipped);
  g_test_add_func ("/perf-data/features", test_features);
  g_test_add_func ("/perf-data/other-architecture", test_other_architecture);
  g_test_add_func ("/perf-data/bad-compression", test_bad_compression);
  g_test_add_func ("/perf-data/header", test_header);
  return g_test_run ();
}
