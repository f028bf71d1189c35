/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kallsyms.c - kernel functions by address, from text in every form that the kernel has. */

#include "symbolize/kallsyms.h"

#include "base/error.h"
#include "base/fd.h"

#include <glib/gstdio.h>
#include <string.h>

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
                           "ffffffff81000000 T _stext\n"
                           "ffffffff81000000 T _text\n"
                           "ffffffff81000100 t do_work\n"
                           "ffffffff81000180 d some_data\n"
                           "ffffffff81000200 W weak_one\n"
                           "not a line\n"
                           "\n"
                           "ffffffffc0002000 t later\t[xfs]\n"
                           "ffffffffc0001000 t earlier\t[xfs]"; /* no newline */

static const struct
{
  guint64 address;
  const char *name; /* NULL: none */
  const char *module;
} lookups[] = {
  { 0, NULL, NULL },
  { 0xffffffff80ffffff, NULL, NULL },
  { 0xffffffff81000000, "_stext", NULL }, /* the first of two names */
  { 0xffffffff810000ff, "_stext", NULL },
  { 0xffffffff81000100, "do_work", NULL },
  { 0xffffffff81000190, "do_work", NULL }, /* data is not a function */
  { 0xffffffff81000200, "weak_one", NULL },
  { 0xffffffffc0001000, "earlier", "[xfs]" },
  { 0xffffffffc0001fff, "earlier", "[xfs]" },
  { 0xffffffffc0002fff, "later", "[xfs]" },
  { 0xffffffffc0003000, NULL, NULL }, /* the length of the last one is unknown */
  { G_MAXUINT64, NULL, NULL },
};

static void
test_find (void)
{
  g_autoptr (LuKallsyms) kallsyms = lu_kallsyms_parse (text, strlen (text), NULL);

  g_assert_nonnull (kallsyms);
  g_assert_cmpuint (lu_kallsyms_size (kallsyms), ==, 5);
  for (guint i = 0; i < G_N_ELEMENTS (lookups); i++)
    {
      LuKernelSymbol symbol;
      gboolean found = lu_kallsyms_find (kallsyms, lookups[i].address, &symbol);

      g_assert_cmpint (found, ==, lookups[i].name != NULL);
      if (!found)
        continue;
      g_assert_cmpstr (symbol.name, ==, lookups[i].name);
      g_assert_cmpstr (symbol.module, ==, lookups[i].module);
      g_assert_cmphex (symbol.address, <=, lookups[i].address);
      g_assert_cmphex (symbol.end, >, lookups[i].address);
    }
}

/* Symbols after the sorted part may belong before it, into its middle, or to an address that has a
 * name already. */
static void
test_unsorted (void)
{
  static const char lines[] = "2000 t b\n2000 t b_too\n4000 t d\n6000 t f\n"
                              "5000 t e\t[m]\n1000 t a\t[m]\n4000 t d_too\t[m]\n"
                              "7000 t g\t[m]\n3000 t c\t[m]\n1000 t a_too\t[m]\n";
  static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
  g_autoptr (LuKallsyms) kallsyms = lu_kallsyms_parse (lines, strlen (lines), NULL);
  LuKernelSymbol symbol;

  g_assert_cmpuint (lu_kallsyms_size (kallsyms), ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      lu_kallsyms_get (kallsyms, i, &symbol);
      g_assert_cmphex (symbol.address, ==, 0x1000 * (i + 1));
      g_assert_cmpstr (symbol.name, ==, names[i]);
    }
}

static void
test_hidden (void)
{
  static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t do_work\n";
  g_autoptr (GError) error = NULL;

  g_assert_null (lu_kallsyms_parse (hidden, strlen (hidden), &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_PERMISSION);
  g_assert_nonnull (strstr (error->message, "kptr_restrict"));
}

static void
test_missing (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (lu_kallsyms_open ("/nonexistent/kallsyms", &error), ==, -1);
  g_assert_nonnull (strstr (error->message, "/nonexistent/kallsyms"));
}

static void
test_this_kernel (void)
{
  g_autoptr (GError) error = NULL;
  int fd = lu_kallsyms_open ("/proc/kallsyms", &error);
  g_autoptr (LuKallsyms) kallsyms = fd >= 0 ? lu_kallsyms_load (fd, &error) : NULL;

  if (kallsyms == NULL)
    {
      g_test_skip (error->message);
      return;
    }
  g_assert_cmpuint (lu_kallsyms_size (kallsyms), >, 1000);
}

static void
test_file (void)
{
  static const char lines[] = "ffffffff81000100 T of_the_text\nffffffff81000180 T next\n";
  g_autoptr (LuKallsymsFile) file =
      lu_kallsyms_file_new (-1, lu_kallsyms_parse (lines, strlen (lines), NULL));
  LuKernelSymbol symbol;

  g_assert_true (lu_kallsyms_find (lu_kallsyms_file_load (file), 0xffffffff81000110, &symbol));
  g_assert_cmpstr (symbol.name, ==, "of_the_text");
  g_assert_cmphex (symbol.address, ==, 0xffffffff81000100);
  g_assert_false (lu_kallsyms_find (lu_kallsyms_file_load (file), 0x1000, &symbol));
}

static void
test_unreadable_file (void)
{
  g_autoptr (LuKallsymsFile) file = lu_kallsyms_file_new (-1, NULL);

  g_assert_null (lu_kallsyms_file_load (file));
}

/* A file of several pieces, with lines across their borders, an entry out of order and no newline
 * at the end, has the same symbols as its text. */
static void
test_long_file (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autofree char *path = NULL;
  lu_autofd fd = g_file_open_tmp ("kallsyms-XXXXXX", &path, &error);
  g_autoptr (LuKallsyms) parsed = NULL, loaded = NULL;

  g_assert_no_error (error);
  for (guint i = 0; i < 9001; i++)
    g_string_append_printf (lines, "%016x T function_%u\n", 0x81000000 + 16 * i, i);
  g_string_append (lines, "0000000080000000 t before_all\t[module]\n00000000c0000000 t last");
  g_assert_true (g_file_set_contents (path, lines->str, (gssize) lines->len, &error));
  parsed = lu_kallsyms_parse (lines->str, lines->len, &error);
  loaded = lu_kallsyms_load (lu_kallsyms_open (path, &error), &error);
  g_assert_no_error (error);
  g_unlink (path);
  lu_fd_clear (&fd);

  g_assert_cmpuint (lu_kallsyms_size (parsed), ==, 9003);
  g_assert_cmpuint (lu_kallsyms_size (loaded), ==, 9003);
  for (guint i = 0; i < 9003; i++)
    {
      LuKernelSymbol a, b;

      lu_kallsyms_get (parsed, i, &a);
      lu_kallsyms_get (loaded, i, &b);
      g_assert_cmphex (a.address, ==, b.address);
      g_assert_cmphex (a.end, ==, b.end);
      g_assert_cmpstr (a.name, ==, b.name);
      g_assert_cmpstr (a.module, ==, b.module);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbolize/kallsyms/find", test_find);
  g_test_add_func ("/symbolize/kallsyms/unsorted", test_unsorted);
  g_test_add_func ("/symbolize/kallsyms/hidden", test_hidden);
  g_test_add_func ("/symbolize/kallsyms/missing", test_missing);
  g_test_add_func ("/symbolize/kallsyms/this-kernel", test_this_kernel);
  g_test_add_func ("/symbolize/kallsyms/file", test_file);
  g_test_add_func ("/symbolize/kallsyms/long-file", test_long_file);
  g_test_add_func ("/symbolize/kallsyms/unreadable-file", test_unreadable_file);
  return g_test_run ();
}
