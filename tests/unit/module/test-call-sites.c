/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-call-sites.c - remembered answers about calls before return addresses. */

#include "module/call-sites.h"

static void
test_call_sites (void)
{
  LuCallSites *sites = lu_call_sites_new ();
  guint n_kept = 0;

  g_assert_cmpint (lu_call_sites_find (sites, 0), ==, LU_CALL_UNKNOWN);
  lu_call_sites_add (sites, 0, LU_CALL_NONE);
  g_assert_cmpint (lu_call_sites_find (sites, 0), ==, LU_CALL_NONE);
  lu_call_sites_add (sites, 77, LU_CALL_DIRECT);
  lu_call_sites_add (sites, 77, LU_CALL_INDIRECT);
  g_assert_cmpint (lu_call_sites_find (sites, 77), ==, LU_CALL_INDIRECT);
  g_assert_cmpint (lu_call_sites_find (sites, 78), ==, LU_CALL_UNKNOWN);
  /* Too far to be kept, and not mistaken for another address. */
  lu_call_sites_add (sites, G_GUINT64_CONSTANT (1) << 62 | 79, LU_CALL_DIRECT);
  g_assert_cmpint (lu_call_sites_find (sites, 79), ==, LU_CALL_UNKNOWN);
  g_assert_cmpint (lu_call_sites_find (sites, G_GUINT64_CONSTANT (1) << 62 | 79), ==,
                   LU_CALL_UNKNOWN);
  /* More than fit: never a wrong answer, and the last one is kept. */
  for (guint i = 100; i < 20100; i++)
    {
      lu_call_sites_add (sites, i, i % 2 ? LU_CALL_DIRECT : LU_CALL_NONE);
      g_assert_cmpint (lu_call_sites_find (sites, i), ==, i % 2 ? LU_CALL_DIRECT : LU_CALL_NONE);
    }
  for (guint i = 100; i < 20100; i++)
    {
      LuCallKind kind = lu_call_sites_find (sites, i);

      n_kept += kind != LU_CALL_UNKNOWN;
      g_assert_true (kind == LU_CALL_UNKNOWN || kind == (i % 2 ? LU_CALL_DIRECT : LU_CALL_NONE));
    }
  g_assert_cmpuint (n_kept, >, 1000);
  lu_call_sites_free (sites);
}

/* Where many answers are asked for again and again, there is room for them, and not for ever. */
static void
test_growth (void)
{
  const guint n = 30000;
  LuCallSites *many[64];
  guint n_known = 0, n_grown = 0;

  for (guint i = 0; i < G_N_ELEMENTS (many); i++)
    {
      many[i] = lu_call_sites_new ();
      for (guint j = 0; j < 6 * n; j++)
        if (lu_call_sites_find (many[i], j % n) == LU_CALL_UNKNOWN)
          lu_call_sites_add (many[i], j % n, LU_CALL_DIRECT);
        else
          n_known++;
      n_grown += lu_call_sites_find (many[i], 0) == LU_CALL_DIRECT
                 && lu_call_sites_find (many[i], n / 2) == LU_CALL_DIRECT;
    }
  g_assert_cmpuint (n_known, >, n);
  g_assert_cmpuint (n_grown, >, 0);
  g_assert_cmpuint (n_grown, <, 32);
  for (guint i = 0; i < G_N_ELEMENTS (many); i++)
    lu_call_sites_free (many[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/call-sites", test_call_sites);
  g_test_add_func ("/call-sites/growth", test_growth);
  return g_test_run ();
}
