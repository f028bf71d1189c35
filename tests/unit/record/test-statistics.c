/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-statistics.c - src/record/statistics.c: which samples count for "complete %". */

#include "record/statistics.h"

#include "process/process-private.h"

#include <math.h>

#define CODE_BYTES 0x1000

static void
add (LuStatistics *statistics, LuStackMessage message)
{
  message.has_no_fp_steps = TRUE;
  lu_statistics_add (statistics, &message);
}

static void
test_excluded_states_do_not_count (void)
{
  LuStatistics statistics;

  lu_statistics_init (&statistics);
  g_assert_true (isnan (lu_statistics_complete_percent (&statistics)));
  for (guint i = 0; i < LU_N_STATUS; i++)
    add (&statistics,
         (LuStackMessage){ .status = (LuStatus) i, .n_kernel = 1, .n_user = 2, .stack_used = 100 });
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_SAMPLES), ==, LU_N_STATUS);
  g_assert_cmpuint (lu_statistics_unwindable (&statistics), ==, LU_N_STATUS - 4);
  g_assert_cmpfloat_with_epsilon (lu_statistics_complete_percent (&statistics),
                                  100.0 / (LU_N_STATUS - 4), 1e-9);
  lu_count (&statistics.counters, LU_COUNTER_LIVE_READS);
  g_assert_cmpfloat (lu_statistics_complete_percent (&statistics), ==, 0.0);
  lu_statistics_clear (&statistics);
}

static LuProcess *
process_with (const char *const *paths, guint n)
{
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();
  LuProcess *process = lu_process_new (10, 1, "program", empty);

  for (guint i = 0; i < n; i++)
    {
      const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = paths[i] };
      LuMapping mapping = { .start = (i + 1) * CODE_BYTES, .end = (i + 2) * CODE_BYTES };

      mapping.module = lu_module_new (&key);
      g_assert_true (lu_process_add_mapping (process, i + 1, &mapping));
      lu_module_unref (mapping.module);
    }
  return process;
}

static void
test_modules_most_first (void)
{
  static const char *const paths[] = { "/a", "/b", "/c" };
  g_autoptr (LuProcess) process = process_with (paths, G_N_ELEMENTS (paths));
  const LuSampleHeader header = { .process = process, .space = lu_process_address_space (process) };
  g_autoptr (GPtrArray) modules = NULL;
  LuStatistics statistics;

  lu_statistics_init (&statistics);
  add (&statistics,
       (LuStackMessage){ .status = LU_STATUS_JIT, .header = header, .end_pc = CODE_BYTES + 1 });
  for (guint i = 0; i < 3; i++)
    add (&statistics, (LuStackMessage){ .status = LU_STATUS_TRUNCATED_COPY,
                                        .header = header,
                                        .end_pc = 2 * CODE_BYTES + 1,
                                        .stack_needed = 20000,
                                        .stack_asked = 16384 });
  add (&statistics, (LuStackMessage){ .status = LU_STATUS_COMPLETE,
                                      .header = header,
                                      .end_pc = 3 * CODE_BYTES + 1 });
  modules = lu_statistics_modules (&statistics);
  g_assert_cmpuint (modules->len, ==, 2);
  g_assert_cmpstr (((LuModuleStatistics *) modules->pdata[0])->path, ==, "/b");
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_STACK_NEEDED_MAX), ==, 20000);
  g_assert_cmpuint (lu_statistics_truncated_at (&statistics, 16384), ==, 3);
  g_assert_cmpuint (lu_statistics_truncated_at (&statistics, 32768), ==, 0);
  lu_statistics_clear (&statistics);
}

static void
test_stack_size_that_suffices (void)
{
  const LuStackMessage small = { .stack_used = 3000, .stack_asked = 16384 };
  const LuStackMessage large = { .stack_used = 30000, .stack_asked = 32768 };
  LuStatistics statistics;

  g_assert_cmpint (small.status, ==, LU_STATUS_COMPLETE);
  lu_statistics_init (&statistics);
  g_assert_cmpuint (lu_statistics_stack_size_for (&statistics, 99), ==, 0);
  for (guint i = 0; i < 990; i++)
    add (&statistics, small);
  for (guint i = 0; i < 10; i++)
    add (&statistics, large);
  g_assert_cmpuint (lu_statistics_stack_size_for (&statistics, 99), ==, 4096);
  g_assert_cmpuint (lu_statistics_stack_size_for (&statistics, 100), ==, 32768);
  lu_statistics_clear (&statistics);
}

/* A kernel frame and four user frames, of which some are inferred. */
static void
add_inferred (LuStatistics *statistics, LuStatus status, guint32 n_user, guint32 n_joined)
{
  static const guint32 flags[] = { LU_FRAME_KERNEL, 0, LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED,
                                   LU_FRAME_RETURN_ADDRESS,
                                   LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED };
  g_autofree LuStackMessage *message =
      g_malloc0 (sizeof *message + G_N_ELEMENTS (flags) * sizeof (LuFrame));

  *message =
      (LuStackMessage){ .status = status, .n_kernel = 1, .n_user = n_user, .n_joined = n_joined };
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    message->frames[i].flags = flags[i];
  lu_statistics_add (statistics, message);
}

static void
test_inferred_frames (void)
{
  LuStatistics statistics;

  lu_statistics_init (&statistics);
  add_inferred (&statistics, LU_STATUS_COMPLETE, 1, 0);
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_INFERRED)
                        + lu_counters_get (&statistics.counters, LU_COUNTER_INFERRED_FRAMES),
                    ==, 0);
  add_inferred (&statistics, LU_STATUS_COMPLETE, 4, 0);
  add_inferred (&statistics, LU_STATUS_JIT, 4, 1);
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_INFERRED), ==, 1);
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_INFERRED_FRAMES), ==, 3);
  g_assert_cmpuint (lu_counters_get (&statistics.counters, LU_COUNTER_JOINED), ==, 1);
  lu_statistics_clear (&statistics);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/statistics/excluded states do not count", test_excluded_states_do_not_count);
  g_test_add_func ("/statistics/modules, most first", test_modules_most_first);
  g_test_add_func ("/statistics/the stack size that suffices", test_stack_size_that_suffices);
  g_test_add_func ("/statistics/inferred frames", test_inferred_frames);
  return g_test_run ();
}
