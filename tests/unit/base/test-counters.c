/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-counters.c - src/base/counters.h and the list in include/lu/counters.h. */

#include "base/counters.h"

static void
test_sum_of_two (void)
{
  LuCounters sum = { 0 }, drain = { 0 }, worker = { 0 };

  lu_count (&drain, LU_COUNTER_SEEN);
  lu_count_n (&drain, LU_COUNTER_MALFORMED, 4);
  lu_count_shared (&worker, LU_COUNTER_MALFORMED);
  lu_counters_add (&sum, &drain);
  lu_counters_add (&sum, &worker);
  g_assert_cmpuint (lu_counters_get (&sum, LU_COUNTER_SEEN), ==, 1);
  g_assert_cmpuint (lu_counters_get (&sum, LU_COUNTER_MALFORMED), ==, 5);
  lu_counters_subtract (&sum, &drain);
  g_assert_cmpuint (lu_counters_get (&sum, LU_COUNTER_SEEN), ==, 0);
  g_assert_cmpuint (lu_counters_get (&sum, LU_COUNTER_MALFORMED), ==, 1);
}

static void
test_maximum_stays (void)
{
  LuCounters counters = { 0 };

  lu_count_max (&counters, LU_COUNTER_STACK_USED_MAX, 70);
  lu_count_max (&counters, LU_COUNTER_STACK_USED_MAX, 30);
  g_assert_cmpuint (lu_counters_get (&counters, LU_COUNTER_STACK_USED_MAX), ==, 70);
}

#define X(NAME, GROUP, key, meaning) { LU_COUNTER_GROUP_##GROUP, key, meaning },
static const struct
{
  LuCounterGroup group;
  const char *key, *meaning;
} list[] = { LU_COUNTER_LIST (X) };
#undef X

/* Two groups may be in one JSON object; the keys of the list are distinct even then. */
static void
test_keys_of_a_group_are_distinct (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (list); i++)
    {
      LuCounterGroup group = list[i].group;

      if (group == LU_COUNTER_GROUP_MAPS)
        group = LU_COUNTER_GROUP_KERNEL_WALKS;
      if (group == LU_COUNTER_GROUP_CHECK_BPF)
        group = LU_COUNTER_GROUP_CHECK;
      g_assert_true (g_hash_table_add (seen, g_strdup_printf ("%u %s", group, list[i].key)));
      g_assert_true (g_str_has_suffix (list[i].meaning, "."));
    }
}

static void
test_bpf_counters_come_first (void)
{
  g_assert_cmpuint (LU_COUNTER_BPF_FRAMES, ==, 0);
  g_assert_cmpuint (LU_COUNTER_RECORDS, ==, LU_N_BPF_COUNTERS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/counters/sum of two", test_sum_of_two);
  g_test_add_func ("/counters/maximum stays", test_maximum_stays);
  g_test_add_func ("/counters/keys of a group are distinct", test_keys_of_a_group_are_distinct);
  g_test_add_func ("/counters/BPF counters come first", test_bpf_counters_come_first);
  return g_test_run ();
}
