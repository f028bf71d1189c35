/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-pages.c - src/base/pages.c: memory of odd sizes is fully mapped, zeroed and released. */

#include "base/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, commit 4ca9b3859dac */
#endif

static void
test_sizes (void)
{
  static const gsize sizes[] = { 0, 1, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes) * G_N_ELEMENTS (sizes); i++)
    {
      gsize before = sizes[i / G_N_ELEMENTS (sizes)], behind = sizes[i % G_N_ELEMENTS (sizes)];
      guint8 *memory = lu_pages_new (before, behind) - before;
      guint8 *other = lu_pages_new (before, behind) - before;
      gsize size = before + behind;

      g_assert_cmpuint ((gsize) (memory + before) % 4096, ==, 0);
      g_assert_true (size == 0 || (memory[0] == 0 && memcmp (memory, memory + 1, size - 1) == 0));
      memset (memory, 1, size);
      lu_pages_make_huge (memory + before, before);
      g_assert_true (size == 0 || (memory[0] == 1 && memcmp (memory, memory + 1, size - 1) == 0));
      g_assert_true (size == 0 || (other[0] == 0 && other[size - 1] == 0));
      lu_pages_free (memory + before, before, behind);
      lu_pages_free (other + before, before, behind);
    }
  lu_pages_free (NULL, 1, 1);
}

/* Pages that the range covers only in part stay untouched, and so does a range without a whole
 * page. */
static void
test_populate (void)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  guint8 *memory =
      mmap (NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char present[4];

  g_assert_true (memory != MAP_FAILED);
  if (madvise (memory, 0, MADV_POPULATE_WRITE) < 0 && errno == EINVAL)
    {
      g_test_skip ("Linux before 5.14");
      munmap (memory, 4 * page);
      return;
    }
  lu_pages_populate (memory + 1, page);
  lu_pages_populate (memory + 8, 3 * page);
  g_assert_cmpint (mincore (memory, 4 * page, present), ==, 0);
  g_assert_cmpint (present[0] & 1, ==, 0);
  g_assert_cmpint (present[1] & 1, ==, 1);
  g_assert_cmpint (present[2] & 1, ==, 1);
  g_assert_cmpint (present[3] & 1, ==, 0);
  munmap (memory, 4 * page);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pages/sizes", test_sizes);
  g_test_add_func ("/pages/populate", test_populate);
  return g_test_run ();
}
