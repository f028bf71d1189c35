/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kallsyms-copy.c - a copy of kernel symbols answers as the symbols themselves do, or not. */

#include "symbolize/kallsyms-copy.h"

#include "base/fd.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>

#define IDENTITY    "0123 of this boot\n"
#define N_FUNCTIONS 20000
#define FIRST       0xffffffff81000000

static int
new_file (const char *bytes, gsize size)
{
  int fd = memfd_create ("copy", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_true (lu_fd_write_all (fd, bytes, size));
  return fd;
}

static GString *
kernel_lines (void)
{
  GString *lines = g_string_new ("0000000000000000 A per_cpu_start\n");
  char tail[501] = "";

  memset (tail, 'x', sizeof tail - 1);
  /* Names of all lengths that the kernel allows, at distances that differ. */
  for (guint i = 0; i < N_FUNCTIONS; i++)
    g_string_append_printf (lines, "%016" G_GINT64_MODIFIER "x %c f%u_%.*s\n",
                            FIRST + 64 * (guint64) i + i % 3 * 16, i % 2 ? 't' : 'T', i,
                            (int) (i % 97 == 0 ? sizeof tail - 1 : i % 7), tail);
  g_string_append (lines, "ffffffffc0001000 t of_a_module\t[xfs]\n");
  return lines;
}

/* Asserts that the copy answers for an address as the symbols do; functions that it cannot have are
 * not asked for. */
static void
check_address (const LuKallsyms *symbols, LuKallsymsCopy *copy, guint64 address)
{
  LuKernelSymbol expected, found;

  g_assert_true (lu_kallsyms_find (symbols, address, &expected));
  g_assert_true (lu_kallsyms_copy_find (copy, address, &found));
  g_assert_cmphex (found.address, ==, expected.address);
  g_assert_cmphex (found.end, ==, expected.end);
  g_assert_cmpint (found.type, ==, expected.type);
  g_assert_cmpstr (found.name, ==, expected.name);
  g_assert_null (found.module);
}

static void
test_find (void)
{
  g_autoptr (GString) lines = kernel_lines ();
  g_autoptr (LuKallsyms) symbols = lu_kallsyms_parse (lines->str, lines->len, NULL);
  g_autoptr (GString) text = lu_kallsyms_copy_text (symbols, IDENTITY);
  g_autoptr (LuKallsymsCopy) copy =
      lu_kallsyms_copy_new (new_file (text->str, text->len), IDENTITY);
  LuKernelSymbol symbol;

  g_assert_nonnull (copy);
  g_assert_null (strstr (text->str, "xfs"));
  for (guint i = 0; i + 1 < N_FUNCTIONS; i++)
    {
      lu_kallsyms_get (symbols, i, &symbol);
      check_address (symbols, copy, symbol.address);
      check_address (symbols, copy, symbol.end - 1);
    }
  /* Below the first one, the last one, whose end the copy does not know, and beyond it. */
  g_assert_false (lu_kallsyms_copy_find (copy, FIRST - 1, &symbol));
  lu_kallsyms_get (symbols, N_FUNCTIONS - 1, &symbol);
  g_assert_false (lu_kallsyms_copy_find (copy, symbol.address, &symbol));
  g_assert_false (lu_kallsyms_copy_find (copy, 0xffffffffc0001000, &symbol));
  g_assert_false (lu_kallsyms_copy_find (NULL, FIRST, &symbol));
}

static void
test_other_kernel (void)
{
  static const char other[] = "4567 of this boot\nffffffff81000000 T a\nffffffff81000100 T b\n";

  g_assert_null (lu_kallsyms_copy_new (new_file (other, strlen (other)), IDENTITY));
  g_assert_null (lu_kallsyms_copy_new (new_file (other, 5), IDENTITY));
  g_assert_null (lu_kallsyms_copy_new (-1, IDENTITY));
}

/* A copy that gets shorter while it is used, or has no lines, knows nothing and says so. */
static void
test_damaged (void)
{
  g_autoptr (GString) lines = kernel_lines ();
  g_autoptr (LuKallsyms) symbols = lu_kallsyms_parse (lines->str, lines->len, NULL);
  g_autoptr (GString) text = lu_kallsyms_copy_text (symbols, IDENTITY);
  int fd = new_file (text->str, text->len);
  g_autoptr (LuKallsymsCopy) copy = lu_kallsyms_copy_new (fd, IDENTITY);
  LuKernelSymbol symbol;

  check_address (symbols, copy, FIRST + 64 * 10000 + 40);
  g_assert_cmpint (ftruncate (fd, 1000), ==, 0);
  g_assert_false (lu_kallsyms_copy_find (copy, FIRST + 64 * 10000, &symbol));
  g_clear_pointer (&copy, lu_kallsyms_copy_free);

  memset (text->str + strlen (IDENTITY), 'x', text->len - strlen (IDENTITY));
  copy = lu_kallsyms_copy_new (new_file (text->str, text->len), IDENTITY);
  g_assert_nonnull (copy);
  g_assert_false (lu_kallsyms_copy_find (copy, FIRST, &symbol));
}

static void
save (const char *bytes, gsize size, gpointer user_data)
{
  GString *saved = user_data;

  g_assert_cmpuint (saved->len, ==, 0);
  g_string_append_len (saved, bytes, (gssize) size);
}

/* The first recording of a boot saves a copy. The next one has its answers without the file, which
 * is empty here, but for what only the file knows. */
static void
test_file (void)
{
  g_autoptr (GString) lines = kernel_lines ();
  g_autoptr (GString) saved = g_string_new (NULL);
  int fd = new_file (lines->str, lines->len), same = dup (fd);
  g_autoptr (LuKallsymsFile) first = NULL, second = NULL;
  LuKernelSymbol symbol;

  lseek (fd, 0, SEEK_SET);
  first = lu_kallsyms_file_new (fd, NULL);
  lu_kallsyms_file_set_copy (first, -1, save, saved);
  g_assert_true (lu_kallsyms_file_find (first, FIRST + 1, &symbol));
  g_assert_cmpuint (saved->len, >, 1000);
  g_assert_true (lu_kallsyms_file_find (first, FIRST + 65, &symbol));

  lseek (same, 0, SEEK_END);
  second = lu_kallsyms_file_new (same, NULL);
  lu_kallsyms_file_set_copy (second, new_file (saved->str, saved->len), save, saved);
  g_assert_true (lu_kallsyms_file_find (second, FIRST + 1, &symbol));
  g_assert_true (g_str_has_prefix (symbol.name, "f0_"));
  g_assert_false (lu_kallsyms_file_find (second, 0xffffffffc0001000, &symbol));
  g_assert_false (lu_kallsyms_file_find (NULL, FIRST, &symbol));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kallsyms-copy/find", test_find);
  g_test_add_func ("/kallsyms-copy/other-kernel", test_other_kernel);
  g_test_add_func ("/kallsyms-copy/damaged", test_damaged);
  g_test_add_func ("/kallsyms-copy/file", test_file);
  return g_test_run ();
}
