/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-rotation.c - src/record/rotation.c: which file gets a sample, and what happens while files
 * cannot be finished. */

#include "record/rotation.h"

#include "capture/syscap-reader.h"
#include "capture/syscap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND  G_GUINT64_CONSTANT (1000000000)
#define START   (1000 * SECOND)
#define PERIOD  (10 * SECOND)
#define MAX_FDS 16

typedef struct
{
  LuRotation *rotation;
  LuSink *sink;
  int fds[MAX_FDS]; /* to read the output of a part */
  guint n_parts, n_described, n_reads;
  gboolean uses_sockets;
} Fixture;

static LuSink *
open_part (guint number, gint64 wall_clock, char ***paths, gpointer user_data, GError **error)
{
  Fixture *self = user_data;
  int fds[2];

  g_assert_cmpuint (number, ==, self->n_parts + 1);
  g_assert_cmpuint (number, <, MAX_FDS);
  if (self->uses_sockets)
    {
      const int least = 1;

      g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
      g_assert_cmpint (setsockopt (fds[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), ==, 0);
    }
  else
    {
      fds[1] = memfd_create ("part", MFD_CLOEXEC);
      fds[0] = dup (fds[1]);
    }
  self->fds[self->n_parts++] = fds[0];
  *paths = g_new0 (char *, 1);
  return lu_syscap_sink_new_with_kallsyms (fds[1], NULL);
}

static char *
describe_part (const LuPart *part, gpointer user_data)
{
  ((Fixture *) user_data)->n_described++;
  return g_strdup_printf ("%" G_GUINT64_FORMAT " samples",
                          lu_counters_get (&part->statistics.counters, LU_COUNTER_SAMPLES));
}

/* Reads the data in the sockets, which lets their writers continue, until there are no writers. */
static gpointer
drain_sockets (gpointer user_data)
{
  Fixture *self = user_data;
  char bytes[4096];

  for (guint i = 0; i < self->n_parts; i++)
    while (read (self->fds[i], bytes, sizeof bytes) > 0)
      self->n_reads++;
  return NULL;
}

static void
setup (Fixture *self)
{
  const LuRotationFuncs funcs = { open_part, describe_part };
  const LuRecording recording = { .start_time = START, .command = "test", .engine = "table" };
  g_autoptr (GError) error = NULL;

  self->rotation = lu_rotation_new (PERIOD, 0, FALSE, &funcs, self);
  self->sink = lu_rotation_sink (self->rotation);
  g_assert_true (self->sink->ops->begin (self->sink, &recording, &error));
  g_assert_no_error (error);
}

static void
teardown (Fixture *self)
{
  lu_sink_free (self->sink);
  for (guint i = 0; i < self->n_parts; i++)
    close (self->fds[i]);
}

/* A sample of a kernel thread, `seconds` after the start. */
static void
add_sample (Fixture *self, double seconds)
{
  const LuFrame frame = { .pc = 0xffffffff81000000, .flags = LU_FRAME_KERNEL };
  LuSinkSample sample = { .time = START + (guint64) (seconds * 1e9),
                          .pid = 7,
                          .tid = 7,
                          .status = LU_STATUS_KERNEL_ONLY,
                          .n_kernel = 1,
                          .kernel = &frame };
  const LuStackMessage message = { .status = sample.status,
                                   .n_kernel = 1,
                                   .has_no_fp_steps = TRUE };
  g_autoptr (GError) error = NULL;

  g_assert_true (self->sink->ops->sample (self->sink, &sample, &error));
  g_assert_no_error (error);
  lu_statistics_add (lu_rotation_statistics_at (self->rotation, sample.time), &message);
}

static void
flush (Fixture *self)
{
  g_assert_true (self->sink->ops->flush (self->sink, NULL));
}

static void
end (Fixture *self, double seconds)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (self->sink->ops->end (self->sink, START + (guint64) (seconds * 1e9), &error));
  g_assert_no_error (error);
  g_assert_cmpuint (self->n_described, ==, self->n_parts);
}

/* "BEGIN-END: TIME TIME… [stats] late N", in seconds since the start. Owned. */
static char *
read_part (Fixture *self, guint number)
{
  g_autoptr (LuSyscapReader) reader = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  const LuSyscapHeader *header;
  LuSyscapRecord record;

  lseek (self->fds[number - 1], 0, SEEK_SET);
  reader = lu_syscap_reader_new (dup (self->fds[number - 1]), NULL);
  g_assert_nonnull (reader);
  header = lu_syscap_reader_header (reader);
  g_string_printf (text, "%g-%g:", (double) ((guint64) header->time - START) / 1e9,
                   (double) ((guint64) header->end_time - START) / 1e9);
  while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
    if (record.type == LU_SYSCAP_SAMPLE)
      g_string_append_printf (text, " %g", (double) ((guint64) record.time - START) / 1e9);
    else if (record.type == LU_SYSCAP_METADATA
             && g_str_equal (record.metadata.key, LU_SYSCAP_KEY_STATS))
      g_string_append_printf (text, " [%s]", record.metadata.text);
    else if (record.type == LU_SYSCAP_METADATA
             && g_str_equal (record.metadata.key, "live-unwinder.late-samples"))
      g_string_append_printf (text, " late %s", record.metadata.text);
  return g_strdup (text->str);
}

static void
assert_part (Fixture *self, guint number, const char *want)
{
  g_autofree char *found = read_part (self, number);

  g_assert_cmpstr (found, ==, want);
}

static void
test_by_time (void)
{
  Fixture self = { 0 };

  setup (&self);
  add_sample (&self, 1);
  add_sample (&self, 9.5);
  add_sample (&self, 10);
  add_sample (&self, 9.75); /* out of order, but in time */
  add_sample (&self, 11);
  flush (&self);
  add_sample (&self, 9.875);
  add_sample (&self, 12.5);
  flush (&self); /* the first file is ended now */
  add_sample (&self, 9.9);
  add_sample (&self, 19);
  end (&self, 19.5);
  g_assert_cmpuint (lu_rotation_n_parts (self.rotation), ==, 2);
  assert_part (&self, 1, "0-10: 1 9.5 9.75 9.875 [4 samples]");
  assert_part (&self, 2, "10-19.5: 10 11 12.5 10 19 late 1 [5 samples]");
  teardown (&self);
}

static void
test_periods_without_samples (void)
{
  Fixture self = { 0 };

  setup (&self);
  add_sample (&self, 5);
  add_sample (&self, 47);
  add_sample (&self, 48);
  add_sample (&self, 61);
  end (&self, 62);
  assert_part (&self, 1, "0-10: 5 [1 samples]");
  assert_part (&self, 2, "40-50: 47 48 [2 samples]");
  assert_part (&self, 3, "60-62: 61 [1 samples]");
  teardown (&self);
}

static void
test_nothing_sampled (void)
{
  Fixture self = { 0 };

  setup (&self);
  end (&self, 3);
  assert_part (&self, 1, "0-3: [0 samples]");
  teardown (&self);
}

/* Nobody reads the sockets, so no file can be completed: each writes more than a socket holds, and
 * less than that before its end. */
static void
test_files_that_cannot_be_finished (void)
{
  Fixture self = { .uses_sockets = TRUE };
  GThread *reader;
  guint n_parts;

  setup (&self);
  for (guint i = 0; i < 5; i++)
    for (guint k = 0; k < 1500; k++)
      add_sample (&self, i * 10 + k / 1000.0);
  /* One file is being finished, one may wait, one is the last, and the current one continues. The
   * thread may or may not have taken the first one when the second one comes. */
  g_assert_cmpuint (self.n_parts, >=, 3);
  g_assert_cmpuint (self.n_parts, <=, 4);
  n_parts = self.n_parts;
  reader = g_thread_new ("reader", drain_sockets, &self);
  end (&self, 50);
  g_thread_join (reader);
  g_assert_cmpuint (self.n_reads, >, 0);
  g_assert_cmpuint (self.n_parts, ==, n_parts);
  teardown (&self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/app/rotation/by-time", test_by_time);
  g_test_add_func ("/app/rotation/periods-without-samples", test_periods_without_samples);
  g_test_add_func ("/app/rotation/nothing-sampled", test_nothing_sampled);
  g_test_add_func ("/app/rotation/files-that-cannot-be-finished",
                   test_files_that_cannot_be_finished);
  return g_test_run ();
}
