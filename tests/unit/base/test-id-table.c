/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-id-table.c - keys get the numbers 0, 1, 2… and keep them. */

#include "base/id-table.h"

#define N 100000

static guint64
word (guint i)
{
  return i * G_GUINT64_CONSTANT (0x100000001) ^ (guint64) i << 40;
}

static void
test_words (gconstpointer data)
{
  guint n_words = GPOINTER_TO_UINT (data);
  g_autoptr (LuIdTable) table =
      n_words == 1 ? lu_id_table_new (n_words) : lu_id_table_new_sized (n_words, N / 3);

  for (guint round = 0; round < 2; round++)
    {
      for (guint i = 0; i < N; i++)
        g_assert_cmpuint (lu_id_table_add (table, word (i), i), ==, i);
      for (guint i = 0; i < N; i++)
        {
          g_assert_cmpuint (lu_id_table_add (table, word (i), i), ==, i);
          g_assert_cmpuint (lu_id_table_find (table, word (i), i), ==, i);
          g_assert_cmpuint (lu_id_table_key (table, i)[0], ==, word (i));
        }
      g_assert_cmpuint (lu_id_table_size (table), ==, N);
      g_assert_cmpuint (lu_id_table_find (table, 1, 1), ==, G_MAXUINT32);
    }
}

static void
test_second_word (void)
{
  g_autoptr (LuIdTable) one = lu_id_table_new (1);
  g_autoptr (LuIdTable) two = lu_id_table_new (2);

  g_assert_cmpuint (lu_id_table_add (one, 5, 1), ==, 0);
  g_assert_cmpuint (lu_id_table_add (one, 5, 2), ==, 0);
  g_assert_cmpuint (lu_id_table_add (two, 5, 1), ==, 0);
  g_assert_cmpuint (lu_id_table_add (two, 5, 2), ==, 1);
  g_assert_cmpuint (lu_id_table_add (two, 0, 0), ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/base/id-table/one-word", GUINT_TO_POINTER (1), test_words);
  g_test_add_data_func ("/base/id-table/two-words", GUINT_TO_POINTER (2), test_words);
  g_test_add_func ("/base/id-table/second-word", test_second_word);
  return g_test_run ();
}
