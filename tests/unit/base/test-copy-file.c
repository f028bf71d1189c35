/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-copy-file.c - copies from file systems that take their time; pipes stand for those. */

#include "base/copy-file.h"
#include "base/fd.h"

#include <string.h>
#include <sys/wait.h>

#define INTERVAL_US 10000
#define DEVICE      1
/* The copies give up after five. */
#define AT_MOST_US  (3 * G_USEC_PER_SEC)
#define LONG_US     (60 * G_USEC_PER_SEC)
#define N_FORGOTTEN 40

typedef struct
{
  int reader, writer;
  gint is_over; /* atomic */
  gsize n;
} Slow;

/* A server that gives a byte now and then. */
static gpointer
feed (gpointer data)
{
  Slow *slow = data;

  for (; !g_atomic_int_get (&slow->is_over); slow->n++)
    {
      g_assert_true (lu_fd_write_all (slow->writer, "x", 1));
      g_usleep (INTERVAL_US);
    }
  lu_fd_clear (&slow->writer);
  return NULL;
}

static int
open_given (int fd, gconstpointer data, struct stat *info)
{
  memset (info, 0, sizeof *info);
  info->st_size = *(const int *) data;
  return fcntl (fd, F_DUPFD_CLOEXEC, 0);
}

static int
copy (const Slow *slow, guint64 key, struct stat *info)
{
  static const int size = 7;

  return lu_copy_file (
      &(LuCopying){
          .open = open_given, .fd = slow->reader, .data = &size, .device = DEVICE, .key = key },
      info);
}

static void
make_pipe (Slow *slow)
{
  int fds[2];

  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  *slow = (Slow){ .reader = fds[0], .writer = fds[1] };
}

static int
copy_at_last (const Slow *slow, guint64 key, struct stat *info)
{
  gint64 end = g_get_monotonic_time () + LONG_US;
  int fd;

  while ((fd = copy (slow, key, info)) < 0 && lu_copy_left_unfinished ())
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_usleep (INTERVAL_US);
    }
  return fd;
}

/* Runs in a thread, which alone is in a hurry. */
static gpointer
hurry (gpointer unused)
{
  gint64 began = g_get_monotonic_time ();
  struct stat info, copied;
  Slow slow, other;
  GThread *feeder;
  lu_autofd fd = -1;

  make_pipe (&slow);
  make_pipe (&other);
  lu_fd_clear (&other.writer);
  feeder = g_thread_new ("feeder", feed, &slow);
  lu_copy_hurry ();

  /* It waits no longer, and for no other file after that. */
  g_assert_cmpint (copy (&slow, 1, &info), <, 0);
  g_assert_cmpint (g_get_monotonic_time () - began, <, AT_MOST_US);
  g_assert_cmpint (copy (&other, 2, &info), <, 0);
  g_assert_true (lu_copy_left_unfinished ());
  g_assert_false (lu_copy_left_unfinished ());

  /* The copies go on. */
  fd = copy_at_last (&other, 2, &info);
  g_assert_cmpint (fd, >=, 0);
  lu_fd_clear (&fd);
  g_atomic_int_set (&slow.is_over, TRUE);
  g_thread_join (feeder);
  fd = copy_at_last (&slow, 1, &info);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (info.st_size, ==, 7);
  g_assert_cmpint (fstat (fd, &copied), ==, 0);
  g_assert_cmpuint ((gsize) copied.st_size, ==, slow.n);
  g_assert_cmpuint (lu_copy_n_silent (), ==, 0);
  lu_fd_clear (&slow.reader);
  lu_fd_clear (&other.reader);
  return unused;
}

static void
test_hurry (void)
{
  g_thread_join (g_thread_new ("hurry", hurry, NULL));
}

/* Everybody else gets the copy at once, or none. */
static void
test_patient (void)
{
  Slow slow;
  struct stat info;
  lu_autofd fd = -1;

  make_pipe (&slow);
  g_assert_true (lu_fd_write_all (slow.writer, "four", 4));
  lu_fd_clear (&slow.writer);
  fd = copy (&slow, 1, &info);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (info.st_size, ==, 7);
  g_assert_cmpint (fstat (fd, &info), ==, 0);
  g_assert_cmpint (info.st_size, ==, 4);
  lu_fd_clear (&slow.reader);
}

/* Copies that nobody asks for again end, and so do their processes. Runs in a thread. */
static gpointer
forget (gpointer unused)
{
  struct stat info;
  Slow slow;
  GThread *feeder;

  make_pipe (&slow);
  feeder = g_thread_new ("feeder", feed, &slow);
  lu_copy_hurry ();
  for (guint64 key = 0; key < N_FORGOTTEN; key++)
    {
      g_assert_cmpint (copy (&slow, key, &info), <, 0);
      g_assert_true (lu_copy_left_unfinished ());
      lu_copy_expire (TRUE);
      g_usleep (INTERVAL_US);
    }
  g_atomic_int_set (&slow.is_over, TRUE);
  g_thread_join (feeder);
  lu_fd_clear (&slow.reader);
  return unused;
}

static void
test_forgotten (void)
{
  guint n = 0;

  g_thread_join (g_thread_new ("forget", forget, NULL));
  while (waitpid (-1, NULL, 0) > 0)
    n++;
  g_assert_cmpuint (n, <, N_FORGOTTEN / 2);
  g_assert_cmpuint (lu_copy_n_silent (), ==, 0);
}

static void
test_silent (void)
{
  Slow slow;
  struct stat info;

  make_pipe (&slow);
  g_assert_cmpint (copy (&slow, 1, &info), <, 0);
  g_assert_cmpuint (lu_copy_n_silent (), ==, 1);
  g_assert_false (lu_copy_left_unfinished ());
  lu_fd_clear (&slow.reader);
  lu_fd_clear (&slow.writer);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/copy-file/patient", test_patient);
  g_test_add_func ("/copy-file/hurry", test_hurry);
  g_test_add_func ("/copy-file/forgotten", test_forgotten);
  g_test_add_func ("/copy-file/silent", test_silent);
  return g_test_run ();
}
