/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-queue.c - src/base/queue.c: order, wrap-around, fullness, waking, end. */

#include "base/queue.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void
put (LuQueue *queue, guint32 value, gsize size)
{
  guint8 *message = lu_queue_reserve (queue, size);

  g_assert_nonnull (message);
  memset (message, (int) (value & 0xff), size);
  memcpy (message, &value, sizeof value);
  lu_queue_commit (queue, size);
}

static void
check (LuQueue *queue, guint32 value, gsize size)
{
  gsize got;
  guint8 *message = lu_queue_peek (queue, &got);
  guint32 number;

  g_assert_nonnull (message);
  memcpy (&number, message, sizeof number);
  g_assert_cmpuint (number, ==, value);
  g_assert_cmpuint (got, ==, size);
  if (size > 4)
    g_assert_cmpuint (message[size - 1], ==, value & 0xff);
  lu_queue_release (queue);
}

static void
test_keeps_order_across_the_wrap (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);

  for (guint32 i = 0; i < 10000; i++)
    {
      gsize size = 4 + i * 37 % 1300;

      put (queue, i, size);
      check (queue, i, size);
    }
  g_assert_null (lu_queue_peek (queue, NULL));
}

static void
test_is_full_and_recovers (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);
  guint32 n = 0;

  g_assert_null (lu_queue_reserve (queue, lu_queue_max_message (queue) + 1));
  while (lu_queue_reserve (queue, 100) != NULL)
    {
      lu_queue_commit (queue, 100);
      n++;
    }
  g_assert_cmpuint (n, >=, 30);
  g_assert_cmpuint (lu_queue_used (queue), <=, 4096);
  lu_queue_peek (queue, NULL);
  lu_queue_release (queue);
  g_assert_nonnull (lu_queue_reserve (queue, 100));
}

static void
test_largest_message_fits_anywhere (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);

  for (guint32 i = 0; i < 100; i++)
    {
      put (queue, i, 8 * (1 + i % 7));
      check (queue, i, 8 * (1 + i % 7));
      put (queue, i, lu_queue_max_message (queue));
      check (queue, i, lu_queue_max_message (queue));
    }
}

static void
test_commit_may_be_smaller (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);
  guint32 *message = lu_queue_reserve (queue, 1000);

  *message = 7;
  lu_queue_commit (queue, 4);
  check (queue, 7, 4);
  g_assert_null (lu_queue_peek (queue, NULL));
}

static void
test_starts_again_at_the_beginning (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (8u << 20);
  guint8 *first = NULL, *lowest, *highest;

  for (guint32 i = 0; i < 1000; i++)
    {
      guint8 *message = lu_queue_reserve (queue, 60000);

      if (first == NULL)
        first = lowest = highest = message;
      lowest = MIN (lowest, message);
      highest = MAX (highest, message);
      memcpy (message, &i, sizeof i);
      memset (message + 4, (int) (i & 0xff), 60000 - 4);
      lu_queue_commit (queue, 60000);
      check (queue, i, 60000);
    }
  g_assert_true (lowest == first);
  g_assert_cmpuint ((gsize) (highest - lowest), <, 2u << 20);
}

static gboolean
is_resident (gpointer at)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  guint8 *start = (guint8 *) at - (gsize) at % page;
  guchar state = 0;

  g_assert_cmpint (mincore (start, page, &state), ==, 0);
  return state & 1;
}

/* After a burst and a quiet interval the queue releases its memory and continues to work. */
/* The words that the wrap-around skips belong to no message. */
static void
test_what_is_passed_over_is_free (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (8u << 20);
  const guint8 *highest = NULL;

  for (guint32 i = 0; i < 100; i++)
    {
      guint8 *message = lu_queue_reserve (queue, 60000);
      gboolean is_again = message < highest;

      g_assert_cmpuint (lu_queue_used (queue), ==, 0);
      highest = message;
      memcpy (message, &i, sizeof i);
      memset (message + 4, (int) (i & 0xff), 60000 - 4);
      lu_queue_commit (queue, 60000);
      g_assert_cmpuint (lu_queue_used (queue), <, 60100);
      if (is_again)
        return;
      check (queue, i, 60000);
    }
  g_assert_not_reached ();
}

/* A queue that runs empty starts again at its beginning, but not so early that the next burst finds
 * no room before the consumer comes. */
static void
test_bursts_have_room (void)
{
  const gsize size = 300;
  const guint n = 1000;
  g_autoptr (LuQueue) queue = lu_queue_new (16 << 20);

  for (guint burst = 0; burst < 450; burst++)
    {
      for (guint i = 0; i < burst; i++)
        {
          put (queue, i, size);
          check (queue, i, size);
        }
      for (guint i = 0; i < n; i++)
        put (queue, i, size);
      for (guint i = 0; i < n; i++)
        check (queue, i, size);
      if (burst % 2 == 0)
        lu_queue_trim (queue);
    }
}

static void
test_trims (void)
{
  const gsize size = 64 << 10;
  g_autoptr (LuQueue) queue = lu_queue_new (16 << 20);
  guint8 *late = NULL;
  gpointer message;
  guint n = 0;

  while ((message = lu_queue_reserve (queue, size)) != NULL)
    {
      memset (message, 1, size);
      lu_queue_commit (queue, size);
      late = ++n == 100 ? message : late;
    }
  lu_queue_trim (queue);
  g_assert_true (is_resident (late)); /* still in it */
  while (lu_queue_peek (queue, NULL) != NULL)
    lu_queue_release (queue);
  lu_queue_trim (queue);
  g_assert_false (is_resident (late));
  for (guint i = 0; i < 1000; i++)
    {
      message = lu_queue_reserve (queue, size);
      memset (message, (int) i, size);
      lu_queue_commit (queue, size);
      if (i % 100 == 0)
        lu_queue_trim (queue);
      g_assert_cmpuint (*(guint8 *) lu_queue_peek (queue, NULL), ==, (guint8) i);
      lu_queue_release (queue);
    }
}

static void
test_ends (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);

  put (queue, 1, 8);
  lu_queue_close (queue);
  g_assert_false (lu_queue_is_finished (queue));
  lu_queue_wait (queue, -1);
  check (queue, 1, 8);
  g_assert_true (lu_queue_is_finished (queue));
  lu_queue_wait (queue, -1);
}

static gpointer
wait_for_it (gpointer data)
{
  LuQueue *queue = data;

  while (lu_queue_peek (queue, NULL) == NULL)
    lu_queue_wait (queue, -1);
  return NULL;
}

/* The test cannot see whether the consumer still sleeps; it can see that the consumer wakes. */
static void
test_a_quiet_commit_is_woken (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);
  GThread *thread = g_thread_new ("consumer", wait_for_it, queue);
  gpointer message;

  g_usleep (20000);
  message = lu_queue_reserve (queue, 8);
  memset (message, 0, 8);
  lu_queue_commit_quietly (queue, 8);
  g_assert_cmpuint (lu_queue_used (queue), >, 0);
  lu_queue_wake (queue);
  g_thread_join (thread);
}

static gpointer
wait_once (gpointer data)
{
  lu_queue_wait (data, -1);
  return NULL;
}

static void
test_a_poke_ends_a_wait (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);
  GThread *thread = g_thread_new ("consumer", wait_once, queue);
  gint64 begin;

  g_usleep (20000);
  lu_queue_poke (queue);
  g_thread_join (thread);
  /* A poke that nobody waits for ends the next wait, and only that one. */
  lu_queue_poke (queue);
  lu_queue_wait (queue, -1);
  begin = g_get_monotonic_time ();
  lu_queue_wait (queue, 50);
  g_assert_cmpint (g_get_monotonic_time () - begin, >=, 40000);
}

#define N_MESSAGES 200000u

static gpointer
produce (gpointer data)
{
  LuQueue *queue = data;

  for (guint32 i = 0; i < N_MESSAGES; i++)
    {
      gsize size = 4 + i % 61 * 5;
      guint8 *message;

      while ((message = lu_queue_reserve (queue, size)) == NULL)
        g_thread_yield ();
      memset (message, (int) (i & 0xff), size);
      memcpy (message, &i, sizeof i);
      lu_queue_commit (queue, size);
    }
  lu_queue_close (queue);
  return NULL;
}

static void
test_two_threads (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (16384);
  GThread *thread = g_thread_new ("producer", produce, queue);
  guint32 i = 0;

  while (!lu_queue_is_finished (queue))
    {
      while (lu_queue_peek (queue, NULL) != NULL)
        {
          check (queue, i, 4 + i % 61 * 5);
          i++;
        }
      lu_queue_wait (queue, -1);
    }
  g_thread_join (thread);
  g_assert_cmpuint (i, ==, N_MESSAGES);
}

static void
test_is_behind (void)
{
  g_autoptr (LuQueue) queue = lu_queue_new (4096);

  for (guint32 i = 0; i < 2; i++)
    put (queue, i, 1000);
  g_assert_false (lu_queue_is_behind (queue));
  put (queue, 2, 1000);
  g_assert_true (lu_queue_is_behind (queue));
  check (queue, 0, 1000);
  g_assert_false (lu_queue_is_behind (queue));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/queue/keeps order across the wrap", test_keeps_order_across_the_wrap);
  g_test_add_func ("/queue/is full and recovers", test_is_full_and_recovers);
  g_test_add_func ("/queue/the largest message fits anywhere", test_largest_message_fits_anywhere);
  g_test_add_func ("/queue/commit may be smaller", test_commit_may_be_smaller);
  g_test_add_func ("/queue/starts again at the beginning", test_starts_again_at_the_beginning);
  g_test_add_func ("/queue/what is passed over is free", test_what_is_passed_over_is_free);
  g_test_add_func ("/queue/bursts have room", test_bursts_have_room);
  g_test_add_func ("/queue/gives memory back", test_trims);
  g_test_add_func ("/queue/ends", test_ends);
  g_test_add_func ("/queue/a quiet commit is woken", test_a_quiet_commit_is_woken);
  g_test_add_func ("/queue/a poke ends a wait", test_a_poke_ends_a_wait);
  g_test_add_func ("/queue/is behind", test_is_behind);
  g_test_add_func ("/queue/two threads", test_two_threads);
  return g_test_run ();
}
