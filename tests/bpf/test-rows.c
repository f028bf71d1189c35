/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-rows.c - finds rows of pages with the C of the BPF program, as a plain search does. */

#include "walk-arch.h" /* before lu/step.h */

#include <glib.h>

#include "../../bpf/walk-subprogram.h"

/* An address of a page; rows have its lower bits, too. */
#define PAGE     0x7000
#define N_RANDOM 64

/* Makes a run of rows at random, one of them at the page's first byte, and returns their number. Of
 * `of` bytes about one begins a row. */
static guint
make_run (GRand *rand, guint of, guint32 *rows)
{
  guint n = 0;

  for (guint at = 0; at < LU_PAGE_BYTES; at++)
    if (at == 0 || g_rand_int_range (rand, 0, (gint) of) == 0)
      {
        rows[n] = LU_ROW (PAGE + at, n);
        n++;
      }
  for (guint i = n; i < lu_bpf_run_length (n); i++)
    rows[i] = rows[n - 1];
  return n;
}

static void
check_run (struct entry *entry, guint32 run, guint n)
{
  struct lu_bpf_page page = lu_bpf_page_make (run, &entry->words[run], n);
  guint row = 0;

  g_assert_cmpuint (lu_bpf_page_run (page), ==, run);
  for (guint at = 0; at < LU_PAGE_BYTES; at++)
    {
      uint64_t n_searched, first = lu_bpf_page_rows (page, PAGE + at, &n_searched);

      while (row + 1 < n && (entry->words[run + row + 1] & 0xffff) <= PAGE + at)
        row++;
      g_assert_cmpuint (first + n_searched, <=, lu_bpf_run_length (n));
      g_assert_cmpuint (n_searched, <, LU_BPF_MAX_SEARCHED);
      g_assert_cmpuint (look_up_row (entry, run + first, n_searched, PAGE + at), ==, row);
    }
}

/* One row, hardly any, as many as there are, one for each byte, at the beginning and the end of the
 * entry. */
static void
test_runs (void)
{
  static struct entry entry;
  static const guint steps[] = { 1, 2, 3, 10, 15, 20, 40, 80, 400, G_MAXINT };
  GRand *rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());

  /* The rows around a run are not its own. */
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    for (guint j = 0; j < N_RANDOM; j++)
      {
        guint32 rows[LU_BPF_MAX_RUN];
        guint n = make_run (rand, steps[i], rows), length = lu_bpf_run_length (n);
        guint32 run = j % 2 == 0 ? 8 : LU_BPF_ENTRY_WORDS - length;

        memset (&entry, j % 4 < 2 ? 0 : 0xff, sizeof entry);
        memcpy (&entry.words[run], rows, length * sizeof *rows);
        check_run (&entry, run, n);
      }
  g_rand_free (rand);
}

/* Runs of each length: their rows are at the page's beginning. */
static void
test_lengths (void)
{
  static struct entry entry;

  for (guint n = 1; n <= LU_PAGE_BYTES; n += n < 1100 ? 1 : 97)
    {
      for (guint i = 0; i < lu_bpf_run_length (n); i++)
        entry.words[8 + i] = LU_ROW (PAGE + MIN (i, n - 1), MIN (i, n - 1));
      check_run (&entry, 8, n);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rows/runs", test_runs);
  g_test_add_func ("/rows/lengths", test_lengths);
  return g_test_run ();
}
