/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-tally.c - src/tally.c: what is counted into "complete %" and what is not. */

#include "tally.h"

static void
test_excluded_states_do_not_count (void)
{
  LuStackUse use = { .used = 100, .asked = 16384 };
  LuTally tally;

  lu_tally_init (&tally);
  for (guint i = 0; i < LU_N_STATUS; i++)
    lu_tally_add (&tally, (LuStatus) i, 1, 2, &use, "/lib/x");
  g_assert_cmpuint (tally.samples, ==, LU_N_STATUS);
  g_assert_cmpuint (lu_tally_walked (&tally), ==, LU_N_STATUS - 4);
  g_assert_cmpfloat_with_epsilon (lu_tally_complete_percent (&tally), 100.0 / (LU_N_STATUS - 4),
                                  1e-9);
  tally.live_reads = 1;
  g_assert_cmpfloat (lu_tally_complete_percent (&tally), ==, 0.0);
  lu_tally_clear (&tally);
}

static void
test_modules_most_first (void)
{
  LuStackUse none = { 0 }, cut = { .needed = 20000, .asked = 16384 };
  LuTally tally;
  g_autoptr (GPtrArray) modules = NULL;

  lu_tally_init (&tally);
  lu_tally_add (&tally, LU_STATUS_JIT, 0, 1, &none, "/a");
  for (guint i = 0; i < 3; i++)
    lu_tally_add (&tally, LU_STATUS_TRUNCATED_COPY, 0, 1, &cut, "/b");
  lu_tally_add (&tally, LU_STATUS_COMPLETE, 0, 1, &none, "/c");
  modules = lu_tally_modules (&tally);
  g_assert_cmpuint (modules->len, ==, 2);
  g_assert_cmpstr (((LuModuleTally *) modules->pdata[0])->path, ==, "/b");
  g_assert_cmpuint (tally.stack_needed_max, ==, 20000);
  g_assert_cmpuint (lu_tally_truncated_at (&tally, 16384), ==, 3);
  g_assert_cmpuint (lu_tally_truncated_at (&tally, 32768), ==, 0);
  lu_tally_clear (&tally);
}

static void
test_stack_size_that_suffices (void)
{
  LuStackUse small = { .used = 3000, .asked = 16384 }, large = { .used = 30000, .asked = 32768 };
  LuTally tally;

  lu_tally_init (&tally);
  g_assert_cmpuint (lu_tally_stack_size_for (&tally, 99), ==, 0);
  for (guint i = 0; i < 990; i++)
    lu_tally_add (&tally, LU_STATUS_COMPLETE, 0, 1, &small, NULL);
  for (guint i = 0; i < 10; i++)
    lu_tally_add (&tally, LU_STATUS_COMPLETE, 0, 1, &large, NULL);
  g_assert_cmpuint (lu_tally_stack_size_for (&tally, 99), ==, 4096);
  g_assert_cmpuint (lu_tally_stack_size_for (&tally, 100), ==, 32768);
  lu_tally_clear (&tally);
}

static void
test_guesses (void)
{
  LuFrame frames[] = {
    { .flags = 0 },
    { .flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_GUESSED },
    { .flags = LU_FRAME_RETURN_ADDRESS },
    { .flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_GUESSED },
  };
  LuTally tally;

  lu_tally_init (&tally);
  lu_tally_add_guesses (&tally, LU_STATUS_COMPLETE, frames, 1);
  g_assert_cmpuint (tally.guessed + tally.guessed_frames, ==, 0);
  lu_tally_add_guesses (&tally, LU_STATUS_COMPLETE, frames, 4);
  lu_tally_add_guesses (&tally, LU_STATUS_JIT, frames, 3);
  g_assert_cmpuint (tally.guessed, ==, 1);
  g_assert_cmpuint (tally.guessed_frames, ==, 3);
  lu_tally_clear (&tally);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tally/excluded states do not count", test_excluded_states_do_not_count);
  g_test_add_func ("/tally/modules, most first", test_modules_most_first);
  g_test_add_func ("/tally/the stack size that suffices", test_stack_size_that_suffices);
  g_test_add_func ("/tally/guesses", test_guesses);
  return g_test_run ();
}
