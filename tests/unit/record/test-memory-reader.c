/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-memory-reader.c - src/record/memory-reader.c: pages become present, pages that nobody
 * provides block nothing, and the process that reads them can do nothing else. */

#include "record/memory-reader.h"

#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_PAGES 8

static guint8 *
map_pages (void)
{
  gsize size = N_PAGES * (gsize) sysconf (_SC_PAGESIZE);
  guint8 *pages = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  g_assert_true (pages != MAP_FAILED);
  madvise (pages, size, MADV_NOHUGEPAGE);
  return pages;
}

/* Bit i: page i is present. */
static guint
present_pages (guint8 *pages)
{
  unsigned char present[N_PAGES];
  guint bits = 0;

  g_assert_cmpint (mincore (pages, N_PAGES * (gsize) sysconf (_SC_PAGESIZE), present), ==, 0);
  for (guint i = 0; i < N_PAGES; i++)
    bits |= (present[i] & 1u) << i;
  return bits;
}

/* Waits until these pages are present, and no others. */
static void
wait_for_pages (guint8 *pages, guint want)
{
  for (guint i = 0; i < 5000 && present_pages (pages) != want; i++)
    g_usleep (1000);
  g_assert_cmphex (present_pages (pages), ==, want);
}

static void
test_pages_become_present (void)
{
  g_autoptr (LuMemoryReader) prefault = lu_memory_reader_new ();
  guint8 *pages = map_pages ();
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), start = (guintptr) pages;

  g_assert_cmphex (present_pages (pages), ==, 0);
  lu_memory_reader_prefault (prefault, getpid (), start + page + 8, start + 3 * page + 8);
  wait_for_pages (pages, 0x0e);
  munmap (pages, N_PAGES * page);
}

/* All samples of a thread ask for the same pages until these are present. They do not use up what
 * may be read in a second, and other threads need not wait. */
static void
test_pages_are_asked_for_once (void)
{
  g_autoptr (LuMemoryReader) reader = lu_memory_reader_new ();
  guint8 *pages = map_pages ();
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), start = (guintptr) pages;
  gint64 begin, end;

  do
    {
      begin = g_get_monotonic_time ();
      lu_memory_reader_prefault (reader, getpid (), start, start + page);
      for (guint i = 0; i < 2000; i++)
        g_assert_true (!lu_memory_reader_prefault (reader, getpid (), start + 8, start + page)
                       || g_get_monotonic_time () - begin >= G_USEC_PER_SEC);
      end = g_get_monotonic_time ();
    }
  while (end - begin >= G_USEC_PER_SEC);
  for (guint i = 1; i < N_PAGES; i++)
    g_assert_true (
        lu_memory_reader_prefault (reader, getpid (), start + i * page, start + (i + 1) * page));
  for (guint i = 0; i < 5000 && present_pages (pages) != 0xff; i++)
    g_usleep (1000);
  g_assert_cmphex (present_pages (pages), ==, 0xff);
  munmap (pages, N_PAGES * page);
}

/* The worker's wishes are kept until the drain comes, those of several threads, too. The samples of
 * a thread repeat the same. */
static void
test_wishes_are_granted_once (void)
{
  g_autoptr (LuMemoryReader) reader = lu_memory_reader_new ();
  guint8 *pages = map_pages ();
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), start = (guintptr) pages;

  g_assert_false (lu_memory_reader_grant (reader));
  lu_memory_reader_wish (reader, getpid (), start, start + page);
  for (guint i = 0; i < 100; i++)
    lu_memory_reader_wish (reader, getpid (), start + 8, start + page);
  lu_memory_reader_wish (reader, getpid (), start + 2 * page, start + 3 * page);
  g_assert_cmphex (present_pages (pages), ==, 0);
  g_assert_true (lu_memory_reader_grant (reader));
  g_assert_false (lu_memory_reader_grant (reader));
  wait_for_pages (pages, 0x05);
  munmap (pages, N_PAGES * page);
}

/* Code is compared with what it may be a copy of, one piece after the other. */
static void
test_code_is_compared (void)
{
  g_autoptr (LuMemoryReader) reader = lu_memory_reader_new ();
  guint8 *pages = map_pages ();
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), start = (guintptr) pages;
  LuCopiedText question = { .pid = getpid (),
                            .start = start,
                            .end = start + page,
                            .time = 9,
                            .text_start = start + page,
                            .text_end = start + N_PAGES * page };
  LuCopiedText answer;

  pages[3 * page] = pages[0] = 0xc3;
  g_assert_false (lu_memory_reader_take_compared (reader, &answer));
  for (guint round = 0; round < 2; round++)
    {
      g_assert_true (lu_memory_reader_compare (reader, &question));
      g_assert_false (lu_memory_reader_compare (reader, &question));
      while (!lu_memory_reader_take_compared (reader, &answer))
        g_usleep (1000);
      g_assert_cmphex (answer.original, ==, start + 3 * page);
      g_assert_cmpuint (answer.size, ==, page);
      g_assert_cmpuint (answer.time, ==, 9);
    }
  munmap (pages, N_PAGES * page);
}

/* Returns the status of our youngest child, as /proc shows it. */
static char *
status_of_child (void)
{
  g_autofree char *children = NULL, *path = NULL;
  const char *space;
  char *status;

  g_assert_true (g_file_get_contents ("/proc/thread-self/children", &children, NULL, NULL));
  space = strrchr (g_strchomp (children), ' ');
  path = g_strdup_printf ("/proc/%s/status", space != NULL ? space + 1 : children);
  g_assert_true (g_file_get_contents (path, &status, NULL, NULL));
  return status;
}

static guint64
number_in (const char *status, const char *name)
{
  const char *at = strstr (status, name);

  g_assert_nonnull (at);
  return g_ascii_strtoull (at + strlen (name), NULL, 16);
}

/* In a child, because a filter cannot be removed. */
static gboolean
has_filters (void)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    _exit (lu_sandbox_restrict_recorder (NULL) ? 0 : 1);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return status == 0;
}

/* It needs the right to read the memory of other users' processes, and nothing else. */
static void
test_rights (void)
{
  G_GNUC_UNUSED g_autoptr (LuMemoryReader) reader = lu_memory_reader_new ();
  guint64 ptrace = G_GUINT64_CONSTANT (1) << CAP_SYS_PTRACE;
  g_autofree char *own = NULL, *status = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/status", &own, NULL, NULL));
  if (!has_filters ())
    {
      g_test_skip ("no seccomp here");
      return;
    }
  for (guint i = 0; i < 5000; i++)
    {
      g_clear_pointer (&status, g_free);
      status = status_of_child ();
      if (number_in (status, "\nSeccomp:") != 0)
        break;
      g_usleep (1000);
    }
  g_assert_cmphex (number_in (status, "\nSeccomp:"), !=, 0);
  g_assert_cmphex (number_in (status, "\nNoNewPrivs:"), ==, 1);
  g_assert_cmphex (number_in (status, "\nCapPrm:"), ==, number_in (own, "\nCapPrm:") & ptrace);
  g_assert_cmphex (number_in (status, "\nCapEff:"), ==, number_in (own, "\nCapPrm:") & ptrace);
  if (geteuid () == 0)
    g_assert_cmphex (number_in (status, "\nCapBnd:"), ==, 0);
}

static int
hold_pages (guint8 *pages)
{
  struct uffdio_api api = { .api = UFFD_API };
  struct uffdio_register range = {
    .range = { .start = (guintptr) pages, .len = N_PAGES * (guint64) sysconf (_SC_PAGESIZE) },
    .mode = UFFDIO_REGISTER_MODE_MISSING,
  };
  int fd = (int) syscall (SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

  if (fd >= 0 && ioctl (fd, UFFDIO_API, &api) == 0 && ioctl (fd, UFFDIO_REGISTER, &range) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

static void
test_nobody_waits_for_a_page (void)
{
  g_autoptr (LuMemoryReader) prefault = lu_memory_reader_new ();
  guint8 *pages = map_pages ();
  guint64 page = (guint64) sysconf (_SC_PAGESIZE), start = (guintptr) pages;
  struct uffd_msg message;
  int fd = hold_pages (pages);

  if (fd < 0)
    {
      g_test_skip ("userfaultfd is not allowed");
      return;
    }
  lu_memory_reader_prefault (prefault, getpid (), start, start + page);
  while (read (fd, &message, sizeof message) != sizeof message)
    g_usleep (1000);
  lu_memory_reader_prefault (prefault, getpid (), start + page, start + 2 * page);
  g_clear_pointer (&prefault, lu_memory_reader_free);
  g_assert_cmphex (present_pages (pages), ==, 0);
  close (fd); /* lets the reader continue */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory-reader/present", test_pages_become_present);
  g_test_add_func ("/memory-reader/once", test_pages_are_asked_for_once);
  g_test_add_func ("/memory-reader/wish", test_wishes_are_granted_once);
  g_test_add_func ("/memory-reader/compare", test_code_is_compared);
  g_test_add_func ("/memory-reader/rights", test_rights);
  g_test_add_func ("/memory-reader/held", test_nobody_waits_for_a_page);
  return g_test_run ();
}
