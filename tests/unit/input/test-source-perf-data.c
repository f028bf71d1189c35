/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-source-perf-data.c - replays recorded files (data/README.md): every record comes once, in
 * order of time; pipes give the same as files; truncated and unusable files give an error. */

#include "base/error.h"
#include "input/record.h"
#include "input/source-perf-data.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct
{
  guint kinds[LU_EVENT_DEFERRED_CHAIN + 1];
  guint with_stack, with_build_id;
  guint64 last_time;
  guint refuse_every; /* LATER for every n-th call; 0: never */
  guint n_calls, n_refused;
  const LuEvent *refused;
  guint64 refused_time;
  guint of_event[LU_MAX_EVENTS];
  guint64 weight;
  guint16 machine; /* of the last sample's registers */
} Replay;

static LuVerdict
receive (const LuEvent *event, gpointer user_data)
{
  Replay *replay = user_data;

  if (replay->n_refused > 0 && replay->refused_time != 0)
    g_assert_cmpuint (event->time, ==, replay->refused_time);
  replay->refused_time = 0;
  if (replay->refuse_every > 0 && ++replay->n_calls % replay->refuse_every == 0
      && event->kind == LU_EVENT_SAMPLE)
    {
      replay->n_refused++;
      replay->refused_time = event->time;
      return LU_VERDICT_LATER;
    }
  if (event->time != 0)
    {
      g_assert_cmpuint (event->time, >=, replay->last_time);
      replay->last_time = event->time;
    }
  replay->kinds[event->kind]++;
  if (event->kind == LU_EVENT_SAMPLE && event->sample.stack_asked == 512)
    replay->with_stack++;
  if (event->kind == LU_EVENT_SAMPLE)
    {
      g_assert_cmpuint (event->sample.event, <, LU_MAX_EVENTS);
      replay->of_event[event->sample.event]++;
      replay->weight += event->sample.weight;
      replay->machine = event->sample.regs.machine;
    }
  if (event->kind == LU_EVENT_MMAP && event->mmap.build_id_size == 20)
    replay->with_build_id++;
  if (event->kind == LU_EVENT_MMAP)
    g_assert_false (event->mmap.is_kernel);
  return LU_VERDICT_DONE;
}

static void
replay_all (LuSource *source, Replay *replay)
{
  LuRound round;
  guint n = 0;

  while ((round = source->ops->drain (source, receive, replay)) != LU_ROUND_END)
    {
      g_assert_cmpuint (n++, <, 100000);
      if (round != LU_ROUND_CLOSED)
        source->ops->wait (source, -1, 1000);
    }
}

static const struct
{
  const char *file;
  guint samples, mmaps, comms, forks, exits, build_ids;
  const char *trouble; /* part of it; NULL none */
} cases[] = {
  { "plain.perf", 12, 37, 2, 0, 1, 6 },
  { "compressed.perf", 13, 37, 2, 0, 1, 0 },
  { "pipe.perf", 12, 37, 2, 0, 1, 0 },
  { "two-events.perf", 14, 37, 2, 0, 1, 6 },
  { "build-ids.perf", 12, 37, 2, 0, 1, 25 },
  { "tasks.perf", 4, 168, 7, 5, 6, 16 },
  { "killed.perf", 38, 37, 2, 0, 0, 0, "did not finish" },
};

static void
assert_case (gsize i, LuSource *source, const Replay *replay)
{
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  g_assert_cmpuint (replay->kinds[LU_EVENT_SAMPLE], ==, cases[i].samples);
  g_assert_cmpuint (replay->with_stack, ==, cases[i].samples);
  g_assert_cmpuint (replay->kinds[LU_EVENT_MMAP], ==, cases[i].mmaps);
  g_assert_cmpuint (replay->kinds[LU_EVENT_COMM], ==, cases[i].comms);
  g_assert_cmpuint (replay->kinds[LU_EVENT_FORK], ==, cases[i].forks);
  g_assert_cmpuint (replay->kinds[LU_EVENT_EXIT], ==, cases[i].exits);
  g_assert_cmpuint (replay->with_build_id, ==, cases[i].build_ids);
  g_assert_cmpuint (lu_counters_get (&source->counters, LU_COUNTER_MALFORMED), ==, 0);
  g_assert_cmpuint (lu_counters_get (&source->counters, LU_COUNTER_LOST_SAMPLES), ==, 0);
  g_assert_false (info.live);
  g_assert_true (info.lossless);
  g_assert_cmpuint (info.stack_size, ==, 512);
  g_assert_cmpstr (info.events[0].name, ==, "cpu-clock");
  if (cases[i].trouble == NULL)
    g_assert_null (info.trouble);
  else
    g_assert_nonnull (strstr (info.trouble, cases[i].trouble));
}

/* Builds without libzstd refuse compressed files. */
static LuSource *
open_case (const char *path)
{
  g_autoptr (GError) error = NULL;
  LuSource *source = lu_source_perf_data_new (path, &error);

  if (source == NULL && g_error_matches (error, LU_ERROR, LU_ERROR_UNSUPPORTED)
      && strstr (error->message, "libzstd") != NULL)
    g_test_skip (error->message);
  else
    g_assert_no_error (error);
  return source;
}

static void
test_replay (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", cases[i].file, NULL);

  for (guint refuse_every = 0; refuse_every < 4; refuse_every++)
    {
      g_autoptr (LuSource) source = open_case (path);
      Replay replay = { .refuse_every = refuse_every == 1 ? 0 : refuse_every };

      if (source == NULL)
        return;
      replay_all (source, &replay);
      assert_case (i, source, &replay);
    }
}

static void
test_info (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "plain.perf", NULL);
  g_autoptr (LuSource) source = open_case (path);
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  g_assert_true (g_str_has_prefix (info.os_release, "6.18"));
  g_assert_nonnull (strstr (info.command_line, "perf record"));
  g_assert_cmpfloat (info.frequency, ==, 499);
  g_assert_cmpuint (info.start_time, ==, 2848942962000);
  g_assert_true (info.kernel_samples);
  g_assert_true (info.has_lost_counter);
}

/* Through a pipe, in pieces of any size. */
static void
test_two_events (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "two-events.perf", NULL);
  g_autoptr (LuSource) source = open_case (path);
  Replay replay = { 0 };
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  g_assert_cmpuint (info.n_events, ==, 2);
  g_assert_cmpstr (info.events[1].name, ==, "task-clock");
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpstr (info.events[i].unit, ==, LU_UNIT_TIME);
      g_assert_true (info.events[i].varies);
    }
  replay_all (source, &replay);
  g_assert_cmpuint (replay.of_event[0], ==, 7);
  g_assert_cmpuint (replay.of_event[1], ==, 7);
  g_assert_cmpuint (replay.weight, ==, 14 * 3344481);
}

/* Every truncated file is either refused with a reason or replayed as far as possible. */
static void
test_one_event (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "plain.perf", NULL);
  g_autoptr (LuSource) source = open_case (path);
  LuSourceInfo info;

  source->ops->get_info (source, &info);
  g_assert_cmpuint (info.n_events, ==, 1);
  g_assert_cmpstr (info.events[0].unit, ==, LU_UNIT_TIME);
  g_assert_cmpuint (info.events[0].weight, ==, 2004008);
  g_assert_false (info.events[0].varies);
}

/* Through a pipe, in pieces that end anywhere. */
static void
test_pipe (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "pipe.perf", NULL);
  g_autofree char *bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = NULL;
  Replay replay = { 0 };
  int fds[2];
  gsize size, head = 12000, at;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  g_assert_cmpint (write (fds[1], bytes, head), ==, head);
  source = lu_source_perf_data_new_for_fd (fds[0], "pipe", &error);
  g_assert_no_error (error);
  for (at = head; at < size; at += MIN (777, size - at))
    {
      while (source->ops->drain (source, receive, &replay) != LU_ROUND_EMPTY)
        ;
      g_assert_cmpint (write (fds[1], bytes + at, MIN (777, size - at)), >, 0);
    }
  close (fds[1]);
  replay_all (source, &replay);
  assert_case (2, source, &replay);
}

static int
memory_file (gconstpointer bytes, gsize size)
{
  int fd = memfd_create ("perf.data", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, bytes, size), ==, size);
  return fd;
}

/* A record with size 0 in the middle of a file: everything before it is replayed. */
static void
test_cut_off (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", cases[i].file, NULL);
      g_autofree char *bytes = NULL;
      gsize size;

      g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
      for (gsize cut = 0; cut < size; cut += 1 + cut / 8)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (LuSource) source =
              lu_source_perf_data_new_for_fd (memory_file (bytes, cut), "cut", &error);
          Replay replay = { 0 };

          if (source != NULL)
            replay_all (source, &replay);
          else
            g_assert_cmpuint (strlen (error->message), >, 10);
          g_assert_cmpuint (replay.kinds[LU_EVENT_SAMPLE], <=, cases[i].samples);
        }
    }
}

static const struct
{
  const char *name;
  const char *bytes;
  gsize size;
  const char *message; /* part of it */
} refused[] = {
  { "empty", "", 0, "not a perf.data file" },
  { "text", "#!/bin/sh\necho hello\n", 21, "not a perf.data file" },
  { "byte-order", "2ELIFREP\0\0\0\0\0\0\0\x10", 16, "byte order" },
  { "old-format", "PERFFILE\x68\0\0\0\0\0\0\0", 16, "before Linux" },
  { "header-size", "PERFILE2\x69\0\0\0\0\0\0\0", 16, "unknown size" },
  { "header-cut", "PERFILE2\x68\0\0\0\0\0\0\0", 16, "cut off" },
  { "pipe-without-records", "PERFILE2\x10\0\0\0\0\0\0\0", 16, "no event" },
};

static void
test_refused (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autoptr (GError) error = NULL;
      int fd = memory_file (refused[i].bytes, refused[i].size);
      g_autoptr (LuSource) source = lu_source_perf_data_new_for_fd (fd, "file", &error);

      g_assert_null (source);
      g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
      if (strstr (error->message, refused[i].message) == NULL)
        g_error ("%s: %s", refused[i].name, error->message);
    }
}

typedef struct
{
  guint n_samples, n_chains;
} Chains;

static LuVerdict
take_chain (const LuEvent *event, gpointer user_data)
{
  Chains *self = user_data;

  if (event->kind != LU_EVENT_SAMPLE)
    return LU_VERDICT_DONE;
  self->n_samples++;
  self->n_chains += event->sample.is_chain && event->sample.n_callchain > 0;
  return LU_VERDICT_DONE;
}

static void
test_no_stacks (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "no-stacks.perf", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = lu_source_perf_data_new (path, &error);
  g_autoptr (LuSource) missing = NULL;
  LuSourceInfo info;
  Chains chains = { 0 };
  LuRound round;

  g_assert_no_error (error);
  source->ops->get_info (source, &info);
  g_assert_true (info.has_chains_only);
  g_assert_cmpstr (info.kernel_symbol, ==, "_text");
  g_assert_cmphex (info.kernel_address, !=, 0);
  while ((round = source->ops->drain (source, take_chain, &chains)) != LU_ROUND_END)
    g_assert_cmpint (round, !=, LU_ROUND_EMPTY);
  g_assert_cmpuint (chains.n_samples, >, 0);
  g_assert_cmpuint (chains.n_chains, ==, chains.n_samples);
  missing = lu_source_perf_data_new ("/nonexistent/perf.data", &error);
  g_assert_null (missing);
  g_assert_nonnull (strstr (error->message, "No such file"));
}

/* Changes plain chains so that the kernel seems to have deferred the user's part of the first one
 * and written it in place of the third sample. */
static void
defer_chain (char *bytes)
{
  enum
  {
    FLAGS = 120 + 40,
    FIRST = 1408,
    LATER = 1568,
    TASK_AND_TIME = 2,
  };
  const guint64 callchain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
                                (guint64) -640, 0xc00c1e };
  guint64 later[] = { LU_RECORD_CALLCHAIN_DEFERRED | (guint64) 88 << 48,
                      0xc00c1e,
                      6,
                      PERF_CONTEXT_USER,
                      0x401001,
                      0x401002,
                      0x401003,
                      0x401004,
                      0x401005,
                      0,
                      0 };

  bytes[FLAGS + 4] |= 1 << (38 - 32);
  memcpy (bytes + FIRST + 48, callchain, sizeof callchain);
  memcpy (later + G_N_ELEMENTS (later) - TASK_AND_TIME, bytes + LATER + 16, 16);
  memcpy (bytes + LATER, later, sizeof later);
}

typedef struct
{
  guint n_samples, n_completed;
} Deferred;

static LuVerdict
take_deferred (const LuEvent *event, gpointer user_data)
{
  Deferred *self = user_data;
  const LuSample *sample = &event->sample;

  g_assert_cmpint (event->kind, !=, LU_EVENT_DEFERRED_CHAIN);
  if (event->kind != LU_EVENT_SAMPLE || self->n_samples++ > 0)
    return LU_VERDICT_DONE;
  g_assert_true (sample->is_chain);
  if (sample->callchain[3] == (guint64) -640)
    return LU_VERDICT_DONE;
  self->n_completed++;
  g_assert_cmpuint (sample->n_callchain, ==, 3 + 1 + 6);
  g_assert_cmphex (sample->callchain[2], ==, 0xffffffff81000020);
  g_assert_cmphex (sample->callchain[3], ==, PERF_CONTEXT_USER);
  g_assert_cmphex (sample->callchain[9], ==, 0x401005);
  return LU_VERDICT_DONE;
}

/* A chain that comes after its sample is found; one with another cookie, or of another thread, is
 * not. */
static void
test_deferred (void)
{
  static const guint changes[] = { 0, 8, 72 }; /* bytes of the later record */
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "no-stacks.perf", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autofree char *bytes = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (LuSource) source = NULL;
      Deferred deferred = { 0 };
      LuRound round;
      gsize size;

      g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
      defer_chain (bytes);
      bytes[1568 + changes[i] + (i == 2 ? 4 : 0)] ^= i > 0 ? 1 : 0;
      source = lu_source_perf_data_new_for_fd (memory_file (bytes, size), "deferred", &error);
      g_assert_no_error (error);
      while ((round = source->ops->drain (source, take_deferred, &deferred)) != LU_ROUND_END)
        g_assert_cmpint (round, !=, LU_ROUND_EMPTY);
      g_assert_cmpuint (deferred.n_samples, >, 2);
      g_assert_cmpuint (deferred.n_completed, ==, i == 0);
    }
}

/* A record whose header says size 0 in the middle of a file: what comes before it is replayed. */
static void
test_damaged (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "plain.perf", NULL);
  g_autofree char *bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = NULL;
  Replay replay = { 0 };
  LuSourceInfo info;
  guint64 offset;
  gsize size;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  memcpy (&offset, bytes + 40, sizeof offset); /* where the records begin */
  for (int i = 0; i < 20; i++)
    offset += *(guint16 *) (bytes + offset + 6);
  memset (bytes + offset + 6, 0, 2);
  source = lu_source_perf_data_new_for_fd (memory_file (bytes, size), "damaged", &error);
  g_assert_no_error (error);
  replay_all (source, &replay);
  source->ops->get_info (source, &info);
  g_assert_nonnull (strstr (info.trouble, "damaged record at byte"));
  g_assert_cmpuint (replay.kinds[LU_EVENT_MMAP], >, 0);
  g_assert_cmpuint (replay.kinds[LU_EVENT_SAMPLE], ==, 0);
}

/* The registers of another architecture are told apart; those of this machine are not marked. */
static void
test_other_machine (void)
{
  static const char own[] = "\0x86_64\0", other[] = "\0aarch64";
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "data", "plain.perf", NULL);
  g_autofree char *bytes = NULL;
  struct utsname here;
  gsize size;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL) && uname (&here) == 0);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LuSource) source =
          lu_source_perf_data_new_for_fd (memory_file (bytes, size), "other", &error);
      gboolean is_own = strcmp (here.machine, (i == 0 ? own : other) + 1) == 0;
      Replay replay = { .machine = 1 };
      char *name;

      g_assert_no_error (error);
      replay_all (source, &replay);
      g_assert_cmpuint (replay.machine, ==, is_own ? 0 : i == 0 ? EM_X86_64 : EM_AARCH64);
      name = memmem (bytes, size, own, sizeof own - 1);
      g_assert_true (i == 1 || name != NULL);
      if (name != NULL)
        memcpy (name, other, sizeof other);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/source-perf-data/", cases[i].file, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_replay);
    }
  g_test_add_func ("/source-perf-data/info", test_info);
  g_test_add_func ("/source-perf-data/one-event", test_one_event);
  g_test_add_func ("/source-perf-data/two-events", test_two_events);
  g_test_add_func ("/source-perf-data/pipe", test_pipe);
  g_test_add_func ("/source-perf-data/cut-off", test_cut_off);
  g_test_add_func ("/source-perf-data/refused", test_refused);
  g_test_add_func ("/source-perf-data/no-stacks", test_no_stacks);
  g_test_add_func ("/source-perf-data/deferred", test_deferred);
  g_test_add_func ("/source-perf-data/damaged", test_damaged);
  g_test_add_func ("/source-perf-data/other-machine", test_other_machine);
  return g_test_run ();
}
