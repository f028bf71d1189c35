/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-source-inherited.c - src/input/source-inherited.c: on rings in memory files, with side-band
 * and samples in one ring as Sysprof's client opens them; on descriptors that are not events; and,
 * where perf events are allowed, on real ones. */

#include "input/source-inherited.h"

#include "base/clock.h"
#include "base/error.h"
#include "input/perf-event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_SIZE 8192u
#define FILE_SIZE  (16u << 20)
#define MAX_RINGS  64

typedef struct
{
  int fd; /* a second descriptor of the file, because the source owns the first */
  struct perf_event_mmap_page *control;
  guint8 *data;
} Fake;

typedef struct
{
  Fake rings[MAX_RINGS];
  GArray *events; /* array of LuInheritedEvent */
  GString *seen;  /* one word per delivered event */
  guint n_refused_samples;
} Fixture;

static void
fixture_init (Fixture *self, guint n_rings)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);

  memset (self, 0, sizeof *self);
  self->events = g_array_new (FALSE, FALSE, sizeof (LuInheritedEvent));
  self->seen = g_string_new (NULL);
  for (guint i = 0; i < n_rings; i++)
    {
      LuInheritedEvent event = { .fd = memfd_create ("ring", MFD_CLOEXEC),
                                 .cpu = (int) (7 * i + 1) };
      guint8 *base;

      g_assert_cmpint (ftruncate (event.fd, FILE_SIZE), ==, 0);
      base = mmap (NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd, 0);
      g_assert_true (base != MAP_FAILED);
      self->rings[i] = (Fake){ .fd = dup (event.fd),
                               .control = (struct perf_event_mmap_page *) (gpointer) base,
                               .data = base + page };
      g_array_append_val (self->events, event);
    }
}

static void
fixture_clear (Fixture *self)
{
  for (guint i = 0; i < self->events->len; i++)
    {
      munmap (self->rings[i].control, FILE_SIZE);
      close (self->rings[i].fd);
    }
  g_array_unref (self->events);
  g_string_free (self->seen, TRUE);
}

static LuSource *
open_source (Fixture *self)
{
  LuInheritedSourceOptions options = { .events = self->events,
                                       .stack_size = STACK_SIZE,
                                       .any_file = TRUE };
  GError *error = NULL;
  LuSource *source = lu_source_inherited_new (&options, &error);

  g_assert_no_error (error);
  return source;
}

static void
produce (Fake *ring, guint32 type, guint16 misc, gconstpointer body, gsize size)
{
  struct perf_event_header header = { .type = type,
                                      .misc = misc,
                                      .size = (guint16) (sizeof header + size) };
  guint64 head = ring->control->data_head;

  memcpy (ring->data + head, &header, sizeof header);
  memcpy (ring->data + head + sizeof header, body, size);
  __atomic_store_n (&ring->control->data_head, head + header.size, __ATOMIC_RELEASE);
}

/* identifier, ip, pid and tid, time, an empty chain, no registers, no stack */
static void
produce_sample (Fake *ring, guint32 pid, guint64 time)
{
  const guint64 body[] = { 1, 0x1000, (guint64) pid << 32 | pid, time, 0, 0, 0 };

  produce (ring, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, sizeof body);
}

/* pid and ppid, tid and ptid, time; pid and tid, time, identifier */
static void
produce_fork (Fake *ring, guint32 parent, guint32 child, guint64 time)
{
  guint64 both = (guint64) parent << 32 | child, trailer = (guint64) parent << 32 | parent;
  const guint64 body[] = { both, both, time, trailer, time, 1 };

  produce (ring, PERF_RECORD_FORK, 0, body, sizeof body);
}

static void
produce_lost (Fake *ring, guint64 count, guint64 time)
{
  const guint64 body[] = { 1, count, 0, time, 1 };

  produce (ring, PERF_RECORD_LOST, 0, body, sizeof body);
}

static LuVerdict
note (const LuEvent *event, gpointer user_data)
{
  Fixture *self = user_data;

  switch (event->kind)
    {
    case LU_EVENT_SAMPLE:
      if (self->n_refused_samples > 0)
        {
          self->n_refused_samples--;
          return LU_VERDICT_LATER;
        }
      g_string_append_printf (self->seen, "s%d@%d ", event->pid, event->cpu);
      break;
    case LU_EVENT_FORK:
      g_string_append_printf (self->seen, "f%d ", event->pid);
      break;
    case LU_EVENT_LOST:
      g_string_append_printf (self->seen, "l%d ", (int) event->lost.count);
      break;
    default:
      g_string_append (self->seen, "? ");
    }
  return LU_VERDICT_DONE;
}

static void
check_round (Fixture *self, LuSource *source, LuRound round, const char *seen)
{
  g_string_set_size (self->seen, 0);
  g_assert_cmpint (source->ops->drain (source, note, self), ==, round);
  g_assert_cmpstr (self->seen->str, ==, seen);
}

static void
test_sideband_comes_first (void)
{
  Fixture self;
  g_autoptr (LuSource) source = NULL;

  fixture_init (&self, 2);
  source = open_source (&self);
  check_round (&self, source, LU_ROUND_EMPTY, "");
  produce_sample (&self.rings[0], 20, 200);
  produce_fork (&self.rings[0], 10, 21, 210);
  produce_sample (&self.rings[0], 21, 220);
  produce_fork (&self.rings[1], 10, 20, 190);
  produce_fork (&self.rings[1], 21, 22, 230);
  produce_sample (&self.rings[1], 22, 240);
  check_round (&self, source, LU_ROUND_CLOSED, "f20 f21 f22 s20@1 s21@1 s22@8 ");
  check_round (&self, source, LU_ROUND_EMPTY, "");
  for (guint i = 0; i < 2; i++)
    g_assert_cmpuint (self.rings[i].control->data_tail, ==, self.rings[i].control->data_head);
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static LuVerdict
note_next (const LuEvent *event, gpointer user_data)
{
  Fixture *self = user_data;

  if (event->kind == LU_EVENT_SAMPLE)
    g_string_append_printf (self->seen, "%d>%d ", event->pid,
                            event->next != NULL ? event->next->pid : 0);
  else
    g_assert_null (event->next);
  return LU_VERDICT_DONE;
}

/* Never across skipped side-band or from one ring to another. */
static void
test_next_samples_are_told (void)
{
  Fixture self;
  g_autoptr (LuSource) source = NULL;

  fixture_init (&self, 2);
  source = open_source (&self);
  for (guint32 pid = 1; pid <= 3; pid++)
    produce_sample (&self.rings[0], pid, 10 * pid);
  produce_fork (&self.rings[0], 1, 2, 35);
  produce_sample (&self.rings[0], 4, 40);
  produce_sample (&self.rings[0], 5, 50);
  produce_sample (&self.rings[1], 6, 60);
  g_assert_cmpint (source->ops->drain (source, note_next, &self), ==, LU_ROUND_CLOSED);
  g_assert_cmpstr (self.seen->str, ==, "1>2 2>3 3>0 4>5 5>0 6>0 ");
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static void
test_refused_samples_stay (void)
{
  Fixture self;
  g_autoptr (LuSource) source = NULL;

  fixture_init (&self, 1);
  source = open_source (&self);
  produce_sample (&self.rings[0], 1, 10);
  produce_fork (&self.rings[0], 1, 2, 20);
  produce_sample (&self.rings[0], 2, 30);
  self.n_refused_samples = 1;
  check_round (&self, source, LU_ROUND_OPEN, "f2 ");
  g_assert_cmpuint (self.rings[0].control->data_tail, ==, 0);
  check_round (&self, source, LU_ROUND_CLOSED, "s1@1 s2@1 ");
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static void
test_losses_are_counted (void)
{
  Fixture self;
  g_autoptr (LuSource) source = NULL;
  LuSourceInfo info;

  fixture_init (&self, 2);
  source = open_source (&self);
  produce_lost (&self.rings[0], 5, 10);
  produce_lost (&self.rings[1], 2, 20);
  produce_sample (&self.rings[1], 1, 30);
  check_round (&self, source, LU_ROUND_CLOSED, "l5 l2 s1@8 ");
  lu_source_update_counters (source);
  source->ops->get_info (source, &info);
  g_assert_cmpuint (lu_counters_get (&source->counters, LU_COUNTER_LOST_SAMPLES), ==, 7);
  /* Records lost in a shared ring may have been about a process. */
  g_assert_cmpuint (lu_counters_get (&source->counters, LU_COUNTER_LOST_SIDEBAND), ==, 7);
  g_assert_false (info.has_lost_counter);
  g_assert_null (info.trouble);
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static void
test_other_attributes_are_told (void)
{
  static const guint8 garbage[16];
  Fixture self;
  g_autoptr (LuSource) source = NULL;
  LuSourceInfo info;

  fixture_init (&self, 1);
  source = open_source (&self);
  for (guint i = 0; i < 3; i++)
    produce (&self.rings[0], PERF_RECORD_SAMPLE, 0, garbage, sizeof garbage);
  check_round (&self, source, LU_ROUND_CLOSED, "");
  lu_source_update_counters (source);
  source->ops->get_info (source, &info);
  g_assert_cmpuint (lu_counters_get (&source->counters, LU_COUNTER_MALFORMED), ==, 3);
  g_assert_nonnull (info.trouble);
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static void
test_many_rings (void)
{
  Fixture self;
  g_autoptr (LuSource) source = NULL;
  g_autoptr (GString) expected = g_string_new (NULL);
  LuSourceInfo info;

  fixture_init (&self, MAX_RINGS);
  source = open_source (&self);
  source->ops->get_info (source, &info);
  g_assert_cmpuint (info.n_rings, ==, MAX_RINGS);
  g_assert_cmpuint (info.ring_size, >=, 2u << 20);
  for (guint i = MAX_RINGS; i > 0; i--)
    {
      produce_fork (&self.rings[i - 1], 1, i, 1000 - i);
      g_string_append_printf (expected, "f%u ", i);
    }
  for (guint i = 0; i < MAX_RINGS; i++)
    {
      produce_sample (&self.rings[i], 9, 2000);
      g_string_append_printf (expected, "s9@%u ", 7 * i + 1);
    }
  check_round (&self, source, LU_ROUND_CLOSED, expected->str);
  g_clear_pointer (&source, lu_source_free);
  fixture_clear (&self);
}

static void
check_refused (int first, int second, const char *pattern)
{
  g_autoptr (GArray) events = g_array_new (FALSE, FALSE, sizeof (LuInheritedEvent));
  LuInheritedEvent event = { .fd = first, .cpu = 0 };
  LuInheritedSourceOptions options = { .events = events, .stack_size = STACK_SIZE };
  g_autoptr (GError) error = NULL;

  g_array_append_val (events, event);
  event.fd = second;
  if (second >= 0)
    g_array_append_val (events, event);
  g_assert_null (lu_source_inherited_new (&options, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_INVALID);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("\"%s\" is not \"%s\"", error->message, pattern);
}

static void
test_odd_descriptors_are_refused (void)
{
  int pipe_fds[2];

  check_refused (memfd_create ("no-ring", MFD_CLOEXEC), -1,
                 "*not a perf event but /memfd:no-ring*");
  g_assert_cmpint (pipe (pipe_fds), ==, 0);
  check_refused (pipe_fds[1], -1, "*not a perf event but pipe:*");
  close (pipe_fds[0]);
  check_refused (987, -1, "*987*nothing is open there*");
}

/* Recorded rings are read but not waited for, because poll() on a file always returns at once. */
static void
test_sealed_files (void)
{
  Fixture self;
  LuInheritedSourceOptions options = { .stack_size = STACK_SIZE, .own_sideband = TRUE };
  LuInheritedEvent event = { .fd = memfd_create ("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                             .cpu = 512 };
  g_autoptr (GArray) events = g_array_new (FALSE, FALSE, sizeof (LuInheritedEvent));
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = NULL;
  gpointer base;
  LuSourceInfo info;
  gint64 start;

  g_assert_cmpint (ftruncate (event.fd, 3 << 20), ==, 0);
  g_assert_cmpint (fcntl (event.fd, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
  base = mmap (NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd, 0);
  fixture_init (&self, 0);
  self.rings[0].control = base;
  self.rings[0].data = (guint8 *) base + sysconf (_SC_PAGESIZE);
  g_array_append_val (events, event);
  options.events = events;
  source = lu_source_inherited_new (&options, &error);
  if (source == NULL)
    {
      g_test_skip (error->message);
      fixture_clear (&self);
      return;
    }
  source->ops->get_info (source, &info);
  g_assert_cmpuint (info.ring_size, ==, 2 << 20); /* not behind the end */
  produce_fork (&self.rings[0], 1, 2, 10);        /* not believed */
  produce_sample (&self.rings[0], 2, 20);
  g_string_set_size (self.seen, 0);
  while (strstr (self.seen->str, "s2@512") == NULL)
    source->ops->drain (source, note, &self);
  g_assert_null (strstr (self.seen->str, "f2 "));
  start = g_get_monotonic_time ();
  for (guint i = 0; i < 100; i++)
    source->ops->wait (source, -1, 5);
  /* Skip the check if the whole system is busy starting processes. */
  if (g_get_monotonic_time () - start < 5000)
    g_error ("100 waits took %d us", (int) (g_get_monotonic_time () - start));
  munmap (base, 3 << 20);
  fixture_clear (&self);
}

/* Opens an event on one CPU as Sysprof's client does. */
static int
open_client_event (int cpu)
{
  struct perf_event_attr attr = {
    .size = sizeof attr,
    .type = PERF_TYPE_SOFTWARE,
    .config = PERF_COUNT_SW_CPU_CLOCK,
    .sample_period = 1000000,
    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                   | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
    .sample_regs_user = lu_perf_user_registers (),
    .sample_stack_user = STACK_SIZE,
    .disabled = 1,
    .mmap = 1,
    .mmap2 = 1,
    .comm = 1,
    .task = 1,
    .exclude_idle = 1,
    .sample_id_all = 1,
    .use_clockid = 1,
    .clockid = CLOCK_MONOTONIC,
    .wakeup_events = 149,
  };

  return lu_perf_open (&attr, -1, cpu);
}

static LuVerdict
count_samples (const LuEvent *event, gpointer user_data)
{
  guint *n = user_data;

  if (event->kind == LU_EVENT_SAMPLE && event->pid == getpid () && event->cpu == 1000
      && event->sample.stack_asked == STACK_SIZE)
    ++*n;
  return LU_VERDICT_DONE;
}

static void
run_real (int other_mapping_pages)
{
  LuInheritedEvent event = { .fd = open_client_event (0), .cpu = 1000 };
  g_autoptr (GArray) events = g_array_new (FALSE, FALSE, sizeof (LuInheritedEvent));
  LuInheritedSourceOptions options = { .events = events,
                                       .stack_size = STACK_SIZE,
                                       .own_sideband = TRUE };
  g_autoptr (LuSource) source = NULL;
  g_autoptr (GError) error = NULL;
  gsize other_size = (gsize) (1 + other_mapping_pages) * (gsize) sysconf (_SC_PAGESIZE);
  gpointer other = MAP_FAILED;
  LuSourceInfo info;
  cpu_set_t cpus;
  guint64 begin;
  guint n = 0;

  if (event.fd < 0)
    {
      g_test_skip ("CPU-wide perf events are not allowed here");
      return;
    }
  CPU_ZERO (&cpus);
  CPU_SET (0, &cpus);
  sched_setaffinity (0, sizeof cpus, &cpus);
  if (other_mapping_pages > 0)
    other = mmap (NULL, other_size, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd, 0);
  g_array_append_val (events, event);
  source = lu_source_inherited_new (&options, &error);
  g_assert_no_error (error);
  ioctl (event.fd, PERF_EVENT_IOC_ENABLE, 0);
  /* At 1 kHz; other programs may use the CPU too. */
  begin = lu_thread_cpu_ns ();
  while (lu_thread_cpu_ns () - begin < G_GUINT64_CONSTANT (100000000))
    source->ops->drain (source, count_samples, &n);
  source->ops->get_info (source, &info);
  if (other == MAP_FAILED)
    g_assert_cmpuint (info.ring_size, >=, 2u << 20);
  else
    {
      g_assert_cmpuint (info.ring_size, ==, other_size - (gsize) sysconf (_SC_PAGESIZE));
      munmap (other, other_size);
    }
  g_assert_cmpuint (n, >, 20);
}

static void
test_real_events (void)
{
  run_real (0);
}

static void
test_real_events_that_are_mapped (void)
{
  run_real (16);
}

static void
test_real_events_twice (void)
{
  int fd = open_client_event (0);

  if (fd < 0)
    {
      g_test_skip ("CPU-wide perf events are not allowed here");
      return;
    }
  check_refused (fd, dup (fd), "*are the same event*");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/source-inherited/sideband-comes-first", test_sideband_comes_first);
  g_test_add_func ("/source-inherited/next-samples-are-told", test_next_samples_are_told);
  g_test_add_func ("/source-inherited/refused-samples-stay", test_refused_samples_stay);
  g_test_add_func ("/source-inherited/losses-are-counted", test_losses_are_counted);
  g_test_add_func ("/source-inherited/other-attributes-are-told", test_other_attributes_are_told);
  g_test_add_func ("/source-inherited/many-rings", test_many_rings);
  g_test_add_func ("/source-inherited/odd-descriptors-are-refused",
                   test_odd_descriptors_are_refused);
  g_test_add_func ("/source-inherited/sealed-files", test_sealed_files);
  g_test_add_func ("/source-inherited/real-events", test_real_events);
  g_test_add_func ("/source-inherited/real-events-that-are-mapped",
                   test_real_events_that_are_mapped);
  g_test_add_func ("/source-inherited/real-events-twice", test_real_events_twice);
  return g_test_run ();
}
