/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-pages.c - src/base/pages.c: memory of odd sizes is all there, zeroed and given back. */

#include "base/pages.h"

#include <string.h>

static void
test_sizes (void)
{
  static const gsize sizes[] = { 1, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      guint8 *memory = lu_pages_new (sizes[i]);
      guint8 *other = lu_pages_new (sizes[i]);

      g_assert_cmpuint ((gsize) memory % 4096, ==, 0);
      for (gsize at = 0; at < sizes[i]; at++)
        g_assert_cmpuint (memory[at], ==, 0);
      memset (memory, 1, sizes[i]);
      g_assert_cmpuint (other[0], ==, 0);
      g_assert_cmpuint (other[sizes[i] - 1], ==, 0);
      lu_pages_free (memory, sizes[i]);
      lu_pages_free (other, sizes[i]);
    }
  lu_pages_free (NULL, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pages/sizes", test_sizes);
  return g_test_run ();
}
