/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kallsyms-file.c - symbols of the running kernel are looked up by address, with and without a
 * match. */

#include "symbolize/kallsyms-file.h"

#include <string.h>

static void
test_find (void)
{
  static const char text[] = "ffffffff81000100 T of_the_text\nffffffff81000180 T next\n";
  g_autoptr (LuKallsymsFile) file =
      lu_kallsyms_file_new (-1, lu_kallsyms_parse (text, strlen (text), NULL));
  LuKernelSymbol symbol;

  g_assert_true (lu_kallsyms_find (lu_kallsyms_file_load (file), 0xffffffff81000110, &symbol));
  g_assert_cmpstr (symbol.name, ==, "of_the_text");
  g_assert_cmphex (symbol.address, ==, 0xffffffff81000100);
  g_assert_false (lu_kallsyms_find (lu_kallsyms_file_load (file), 0x1000, &symbol));
}

static void
test_unreadable (void)
{
  g_autoptr (LuKallsymsFile) file = lu_kallsyms_file_new (-1, NULL);

  g_assert_null (lu_kallsyms_file_load (file));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbolize/kallsyms-file/find", test_find);
  g_test_add_func ("/symbolize/kallsyms-file/unreadable", test_unreadable);
  return g_test_run ();
}
