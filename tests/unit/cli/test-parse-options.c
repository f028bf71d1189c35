/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-parse-options.c - src/cli/parse-options.c: accepted and refused command lines, and the
 * messages of refusals. */

#include "cli/option-table.h"

#include <string.h>

static gboolean
parse (LuOptions *options, const char *line, GError **error)
{
  g_auto (GStrv) argv = NULL;
  int argc;

  g_assert_true (g_shell_parse_argv (line, &argc, &argv, NULL));
  return lu_options_parse (options, argc, argv, error);
}

static void
test_command_keeps_its_own_options (void)
{
  LuOptions options;

  g_assert_true (parse (&options, "lu -F 500 -o x.syscap -- prog --pid 3 -o y", NULL));
  g_assert_cmpuint (options.frequency, ==, 500);
  g_assert_cmpstr (options.output, ==, "x.syscap");
  g_assert_cmpuint (g_strv_length (options.command), ==, 5);
  g_assert_cmpstr (options.command[1], ==, "--pid");
  g_assert_null (options.pids);
  lu_options_clear (&options);
  g_assert_true (parse (&options, "lu prog -F 1", NULL));
  g_assert_cmpstr (options.command[1], ==, "-F");
  lu_options_clear (&options);
}

static void
test_lists_of_ids (void)
{
  LuOptions options;

  g_assert_true (parse (&options, "lu --pid 1,22,333", NULL));
  g_assert_cmpuint (options.pids->len, ==, 3);
  g_assert_cmpint (g_array_index (options.pids, pid_t, 2), ==, 333);
  lu_options_clear (&options);
}

static void
test_names (void)
{
  LuOptions options;

  g_assert_true (parse (&options, "lu --name nginx --wait --name redis", NULL));
  g_assert_cmpuint (g_strv_length (options.names), ==, 2);
  g_assert_cmpstr (options.names[1], ==, "redis");
  g_assert_true (options.wait);
  lu_options_clear (&options);
}

static void
test_durations (void)
{
  static const struct
  {
    const char *text;
    double seconds;
  } cases[] = { { "10", 10 },     { "2.5", 2.5 },     { "1m30s", 90 }, { "1min", 60 },
                { "200ms", 0.2 }, { "1h2m3s", 3723 }, { "1h30", 3630 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *line = g_strdup_printf ("lu -a -d %s", cases[i].text);
      LuOptions options;

      g_assert_true (parse (&options, line, NULL));
      g_assert_cmpfloat_with_epsilon (options.duration, cases[i].seconds, 1e-9);
      lu_options_clear (&options);
    }
}

static void
test_habits (void)
{
  LuOptions options;

  g_assert_true (parse (&options, "lu -g --call-graph dwarf,8192 -p 4 -p 5,6", NULL));
  g_assert_cmpuint (options.pids->len, ==, 3);
  g_assert_cmpint (g_array_index (options.pids, pid_t, 0), ==, 4);
  g_assert_cmpint (g_array_index (options.pids, pid_t, 2), ==, 6);
  lu_options_clear (&options);
}

static void
test_tables (void)
{
  LuOptions options;
  g_autoptr (GError) error = NULL;

  g_assert_true (parse (&options, "lu --all", NULL));
  g_assert_cmpuint (options.table_memory, ==, 16);
  g_assert_false (options.no_store);
  lu_options_clear (&options);
  g_assert_true (parse (&options, "lu --all --table-memory 0 --no-store", NULL));
  g_assert_cmpuint (options.table_memory, ==, 0);
  g_assert_true (options.no_store);
  lu_options_clear (&options);
  g_assert_false (parse (&options, "lu --all --table-memory=-1", &error));
  g_assert_nonnull (strstr (error->message, "--table-memory"));
  lu_options_clear (&options);
}

static void
test_stack_sizes (void)
{
  static const struct
  {
    const char *text;
    guint32 size;
    gboolean ok;
  } cases[] = { { "auto", 0, TRUE },      { "16384", 16384, TRUE }, { "16k", 16384, TRUE },
                { "65528", 65528, TRUE }, { "65536", 0, FALSE },    { "65529", 0, FALSE },
                { "12", 0, FALSE },       { "-8", 0, FALSE },       { "8192x", 0, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *line = g_strdup_printf ("lu --stack-size=%s -a", cases[i].text);
      g_autoptr (GError) error = NULL;
      LuOptions options;

      g_assert_cmpint (parse (&options, line, &error), ==, cases[i].ok);
      if (cases[i].ok)
        g_assert_cmpuint (options.stack_size, ==, cases[i].size);
      else
        g_assert_nonnull (strstr (error->message, "65528"));
      lu_options_clear (&options);
    }
}

static void
test_refusals (void)
{
  static const struct
  {
    const char *line, *says;
  } cases[] = { { "lu", "Nothing to record" },
                { "lu -a --pid 1", "Only one" },
                { "lu --pid 1 -- prog", "Only one" },
                { "lu --name x --pid 1", "Only one" },
                { "lu --name ''", "--name: give" },
                { "lu --pid 1 --wait", "--wait needs --name" },
                { "lu -a --open --rotate 5", "--open cannot" },
                { "lu --pid 1x", "1x" },
                { "lu --pid 0", "\"0\"" },
                { "lu --pid ''", "not a process" },
                { "lu --engine magic -a", "dwfl" },
                { "lu --stats xml -a", "json" },
                { "lu -F 0 -a", "rate" },
                { "lu -F 1000000000 -a", "perf_event_max_sample_rate" },
                { "lu -d -3 -a", "duration" },
                { "lu -d 1x -a", "\"1x\" is not a time" },
                { "lu -d 0 -a", "\"0\" is not a time" },
                { "lu -d 1m30q -a", "1m30s" },
                { "lu -a -o x.svg",
                  "x.svg would be a capture; suffixes of other formats are .folded, .html" },
                { "lu -a -o y.folded -o x.json", "x.json would be" },
                { "lu --nonsense", "nonsense" },
                { "lu --capture-fd=4", "--perf-fd is missing" },
                { "lu --perf-fd=4:0", "--capture-fd is missing" },
                { "lu --event-fd=4", "--perf-fd is missing" },
                { "lu --perf-fd=4:0 --capture-fd=1", "--capture-fd: give" },
                { "lu --perf-fd=2:0 --capture-fd=5", "\"2:0\" is not" },
                { "lu --perf-fd=4: --capture-fd=5", "\"4:\" is not" },
                { "lu --perf-fd=x:0 --capture-fd=5", "\"x:0\" is not" },
                { "lu --perf-fd=4:0:1 --capture-fd=5", "\"4:0:1\" is not" },
                { "lu --perf-fd=4:-2 --capture-fd=5", "\"4:-2\" is not" },
                { "lu --perf-fd=4:0 --capture-fd=5 --stack-size=auto", "\"auto\" is not a number" },
                { "lu --perf-fd=4:0 --capture-fd=5 -a", "--all cannot be used" },
                { "lu --perf-fd=4:0 --capture-fd=5 -F 999", "--frequency cannot be used" },
                { "lu --perf-fd=4:0 --capture-fd=5 -o x", "--output cannot be used" },
                { "lu --perf-fd=4:0 --capture-fd=5 -- prog", "-- COMMAND cannot be used" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      LuOptions options;

      g_assert_false (parse (&options, cases[i].line, &error));
      if (strstr (error->message, cases[i].says) == NULL)
        g_error ("%s: \"%s\" does not say \"%s\"", cases[i].line, error->message, cases[i].says);
      lu_options_clear (&options);
    }
}

static void
test_helper (void)
{
  LuOptions options;
  const LuInheritedEvent *second;

  /* Sysprof's daemon passes it in this form. */
  g_assert_true (parse (&options,
                        "lu --stack-size=16384 --event-fd=3 --perf-fd=4:0 --perf-fd=5:7 "
                        "--capture-fd=6",
                        NULL));
  g_assert_true (lu_options_is_helper (&options));
  g_assert_cmpuint (options.stack_size, ==, 16384);
  g_assert_cmpint (options.helper.event_fd, ==, 3);
  g_assert_cmpint (options.helper.capture_fd, ==, 6);
  g_assert_cmpint (options.helper.kallsyms_fd, ==, -1);
  g_assert_cmpuint (options.helper.events->len, ==, 2);
  second = &g_array_index (options.helper.events, LuInheritedEvent, 1);
  g_assert_cmpint (second->fd, ==, 5);
  g_assert_cmpint (second->cpu, ==, 7);
  lu_options_clear (&options);

  g_assert_true (parse (
      &options, "lu -s 65536 -k 8 --perf-fd=4 --capture-fd 6 --engine dwfl --stats json", NULL));
  g_assert_cmpuint (options.stack_size, ==, 65536);
  g_assert_cmpint (options.helper.kallsyms_fd, ==, 8);
  g_assert_cmpint (g_array_index (options.helper.events, LuInheritedEvent, 0).cpu, ==, -1);
  g_assert_cmpstr (options.engine->name, ==, "dwfl");
  lu_options_clear (&options);

  /* Sysprof's daemon passes this for an event without a CPU. */
  g_assert_true (parse (&options, "lu --perf-fd=4:-1 --capture-fd=6", NULL));
  g_assert_cmpint (g_array_index (options.helper.events, LuInheritedEvent, 0).cpu, ==, -1);
  lu_options_clear (&options);

  g_assert_true (parse (&options, "lu -a", NULL));
  g_assert_false (lu_options_is_helper (&options));
  g_assert_cmpuint (options.frequency, ==, 999);
  lu_options_clear (&options);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/durations", test_durations);
  g_test_add_func ("/habits", test_habits);
  g_test_add_func ("/options/COMMAND keeps its own options", test_command_keeps_its_own_options);
  g_test_add_func ("/options/lists of ids", test_lists_of_ids);
  g_test_add_func ("/options/names", test_names);
  g_test_add_func ("/options/tables", test_tables);
  g_test_add_func ("/options/stack sizes", test_stack_sizes);
  g_test_add_func ("/options/refusals", test_refusals);
  g_test_add_func ("/options/helper", test_helper);
  return g_test_run ();
}
