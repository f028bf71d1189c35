/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-summary.c - figures that the summary computes from counts. */

#include "session/summary.h"

static const struct
{
  const char *name;
  gboolean is_all;
  guint64 clock_ns, command_cpu_ns, taken, lost, own;
  guint64 expected;
  gint64 unexplained;
} cases[] = {
  { "lost-elsewhere-explains-nothing", FALSE, 2000000000, 0, 2027, 946, 0, 2000, -27 },
  { "lost-explains-what-is-missing", FALSE, 2000000000, 0, 1500, 946, 0, 2000, 0 },
  { "more-is-missing-than-lost", FALSE, 2000000000, 0, 1500, 400, 0, 2000, 100 },
  { "command-used-more-than-its-tasks", FALSE, 2000000000, 3000000000, 2990, 0, 0, 3000, 10 },
  { "tasks-and-command-differ-a-little", FALSE, 2080000000, 2000000000, 1990, 0, 0, 2000, 10 },
  { "command-left-tasks-behind", FALSE, 2000000000, 1000000000, 1990, 0, 0, 2000, 10 },
  { "all-lost-are-of-all", TRUE, 2000000000, 0, 1500, 946, 100, 1900, -546 },
  { "all-does-not-ask-command", TRUE, 2000000000, 3000000000, 2000, 0, 0, 2000, 0 },
  { "nothing-known", FALSE, 0, 0, 10, 0, 0, 0, -10 },
};

static void
test_expected (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  LuSummary summary = {
    .source = { .frequency = 1000, .live = TRUE, .cpu_wide = TRUE, .has_lost_counter = TRUE }
  };

  lu_counters_set (&summary.counters, LU_COUNTER_TASK_CLOCK_NS, cases[i].clock_ns);
  lu_counters_set (&summary.counters, LU_COUNTER_TAKEN, cases[i].taken);
  lu_counters_set (&summary.counters, LU_COUNTER_LOST_SAMPLES, cases[i].lost);
  lu_counters_set (&summary.counters, LU_COUNTER_OWN, cases[i].own);
  lu_summary_set_expected (&summary, cases[i].is_all, cases[i].command_cpu_ns);
  g_assert_cmpuint (summary.expected_samples, ==, cases[i].expected);
  g_assert_cmpint (lu_summary_unexplained (&summary), ==, cases[i].unexplained);
}

/* Prints the summary of so many samples where 2,000 are expected. */
static void
print_of (guint64 taken)
{
  static const char *const outputs[] = { "x.syscap", NULL };
  LuStatistics statistics = { 0 };
  LuSummary summary = { .statistics = &statistics,
                        .source = { .frequency = 1000,
                                    .live = TRUE,
                                    .cpu_wide = TRUE,
                                    .kernel_samples = TRUE,
                                    .has_lost_counter = TRUE },
                        .expected_samples = 2000,
                        .outputs = (char *const *) outputs };

  statistics.by_status[LU_STATUS_COMPLETE] = taken;
  lu_counters_set (&summary.counters, LU_COUNTER_TAKEN, taken);
  lu_counters_set (&summary.counters, LU_COUNTER_SAMPLES, taken);
  lu_summary_print (&summary, FALSE);
}

static void
test_words (void)
{
  static const struct
  {
    guint64 taken;
    const char *says; /* NULL: nothing of it */
  } words[] = { { 1901, NULL },
                { 1500, "*25 % of the samples that the used CPU time*missing*" },
                { 2099, NULL },
                { 2500, "*25 % more samples came*" } };

  if (g_test_subprocess ())
    {
      print_of (g_ascii_strtoull (g_getenv ("TAKEN"), NULL, 10));
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *taken = g_strdup_printf ("%" G_GUINT64_FORMAT, words[i].taken);

      g_setenv ("TAKEN", taken, TRUE);
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stderr ("*samples in 0.0 s, 100 % complete, none lost*x.syscap*");
      if (words[i].says != NULL)
        g_test_trap_assert_stderr (words[i].says);
      else
        g_test_trap_assert_stderr_unmatched ("*CPU time*");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/summary/expected/%s", cases[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_expected);
    }
  g_test_add_func ("/summary/words-of-what-is-unexplained", test_words);
  return g_test_run ();
}
