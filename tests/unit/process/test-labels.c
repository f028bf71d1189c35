/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-labels.c - the name of the program, derived from a command line. */

#include "process/labels.h"

static const struct
{
  const char *command_line, *program;
} cases[] = {
  { "/usr/bin/python3 -m x", "python3" },
  { "python3", "python3" },
  { "./build/demo --long", "demo" },
  { "nginx: worker process", "nginx" },
  { "postgres: 15/main: checkpointer ", "postgres" },
  { "/usr/sbin/sshd: somebody", "sshd" },
  { "app/main: waiting", "app/main" },
  { ":", ":" },
  { "a:b c", "a:b" },
  { "ksoftirqd/0", "ksoftirqd/0" },
  { "kworker/u8:2-events", "kworker/u8:2-events" },
  { "/", "/" },
  { "/usr/bin/", "bin" },
  { "", "?" },
  { " x", "?" },
};

static void
test_program (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LuLabels labels = { .command_line = cases[i].command_line };
      g_autofree char *program = lu_labels_program (&labels);

      g_assert_cmpstr (program, ==, cases[i].program);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/process/labels/program", test_program);
  return g_test_run ();
}
