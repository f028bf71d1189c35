/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-poll-scheduler.c - src/record/poll-scheduler.c: how long the drain waits after which rounds.
 */

#include "record/poll-scheduler.h"

#include "../../cases.h"

static const struct
{
  const char *name;
  gboolean batches_itself;
  LuPollFacts facts;
  int wait_ms;
} cases[] = {
  { "nothing came", FALSE, { .is_empty = TRUE }, 1000 },
  { "nothing came, but something is to be written",
    FALSE,
    { .is_empty = TRUE, .is_unwritten = TRUE },
    250 },
  { "all stacks were walked in the kernel",
    FALSE,
    { .is_unwritten = TRUE, .n_bpf_unwound = 3 },
    1000 },
  { "stacks were copied", FALSE, { .n_copies = 1 }, 250 },
  { "nearly all were walked", FALSE, { .n_bpf_unwound = 160, .n_copies = 10 }, 1000 },
  { "many were copied", FALSE, { .n_bpf_unwound = 160, .n_copies = 11 }, 250 },
  { "a process is young", FALSE, { .is_empty = TRUE, .n_young = 1 }, 8 },
  { "something could not be published", FALSE, { .maps_wait = TRUE, .n_young = 1 }, 5 },
  { "stacks were cut off", FALSE, { .is_empty = TRUE, .is_cut_off = TRUE }, 5 },
  { "a stack ended at a page that is not there", FALSE, { .n_absent = 1 }, 5 },
  { "a thread has begun", FALSE, { .n_bpf_unwound = 3, .has_new_thread = TRUE }, 20 },
  { "paced: a process is to be asked about", TRUE, { .n_young = 1 }, 20 },
  { "paced: many processes are", TRUE, { .n_young = 6 }, 50 },
  { "paced: processes whose arguments are told",
    TRUE,
    { .n_young = 6, .has_arguments = TRUE },
    250 },
  { "paced: files are to be opened",
    TRUE,
    { .n_young = 6, .has_arguments = TRUE, .has_requests = TRUE },
    20 },
  { "paced: side-band came, and stacks were cut off",
    TRUE,
    { .had_sideband = TRUE, .is_cut_off = TRUE },
    250 },
  { "paced: stacks were cut off", TRUE, { .is_cut_off = TRUE }, 5 },
};

static void
test_wait (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, cases[i].batches_itself);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &cases[i].facts, 1000000), ==,
                   cases[i].wait_ms);
}

static void
test_hurry_passes (void)
{
  LuPollFacts facts = { .is_empty = TRUE, .n_absent = 3 };
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, FALSE);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &facts, 1000000), ==, LU_POLL_HURRY_MS);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &facts, 1999999), ==, LU_POLL_HURRY_MS);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &facts, 2000000), ==, 1000);
  lu_poll_scheduler_hurry (&scheduler, 3000000);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &facts, 3500000), ==, LU_POLL_HURRY_MS);
}

/* A thread that has just begun may soon use pages of its stack that are not present. */
static void
test_new_threads_are_watched (void)
{
  const LuPollFacts begun = { .is_empty = TRUE, .has_new_thread = TRUE },
                    later = { .is_empty = TRUE };
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, FALSE);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &begun, 1000000), ==, 20);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &later, 1199999), ==, 20);
  g_assert_cmpint (lu_poll_scheduler_wait_ms (&scheduler, &later, 1200000), ==, 1000);
}

/* Batches grow while side-band arrives, and shrink after a round without any. */
static void
test_side_band_gathers (void)
{
  const LuPollFacts news = { .had_sideband = TRUE, .had_news = TRUE };
  const LuPollFacts others = { .had_sideband = TRUE }, quiet = { .is_empty = TRUE };
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, FALSE);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 1000);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 2000);
  for (guint i = 0; i < 8; i++)
    lu_poll_scheduler_settle_us (&scheduler, &others);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &others), ==, 8000);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 4000);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 4000);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &others), ==, 1000);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &quiet), ==, 0);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 1000);
}

/* A process should be published to the BPF program before it is sampled. */
static void
test_walks_in_the_kernel_do_not_wait (void)
{
  const LuPollFacts news = { .had_sideband = TRUE, .had_news = TRUE };
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, FALSE);
  scheduler.bpf_unwinds = TRUE;
  for (guint i = 0; i < 8; i++)
    g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 100);
}

static void
test_a_batching_source_gathers_by_itself (void)
{
  const LuPollFacts news = { .had_sideband = TRUE, .had_news = TRUE };
  LuPollScheduler scheduler;

  lu_poll_scheduler_init (&scheduler, TRUE);
  g_assert_cmpuint (lu_poll_scheduler_settle_us (&scheduler, &news), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_INDEXED_CASES ("/pace", cases, test_wait);
  g_test_add_func ("/pace/a hurry passes", test_hurry_passes);
  g_test_add_func ("/pace/new threads are watched", test_new_threads_are_watched);
  g_test_add_func ("/pace/side-band gathers", test_side_band_gathers);
  g_test_add_func ("/pace/walks in the kernel do not wait", test_walks_in_the_kernel_do_not_wait);
  g_test_add_func ("/pace/a paced source gathers by itself",
                   test_a_batching_source_gathers_by_itself);
  return g_test_run ();
}
