/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-pages.c - src/base/pages.c: memory of odd sizes is all there, zeroed and given back. */

#include "base/pages.h"

#include <string.h>

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pages/sizes", test_sizes);
  return g_test_run ();
}
