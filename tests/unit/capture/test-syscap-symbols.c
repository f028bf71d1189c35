/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-symbols.c - the file __symbols__ of a capture, written and searched. */

#include "capture/syscap-symbols.h"

#include <string.h>

static GByteArray *
encode (const LuSyscapSymbol *symbols, guint n, gsize limit, guint *n_left_out)
{
  g_autoptr (GArray) array = g_array_new (FALSE, FALSE, sizeof *symbols);

  g_array_append_vals (array, symbols, n);
  return lu_syscap_symbols_encode (array, limit, n_left_out);
}

static const char *
find (const GByteArray *file, gint32 pid, guint64 address)
{
  LuSyscapSymbol symbol;

  return lu_syscap_symbols_find (file, lu_syscap_symbols_count (file), pid, address, &symbol)
             ? symbol.name
             : NULL;
}

static void
test_find (void)
{
  static const LuSyscapSymbol symbols[] = {
    { 0x3000, 0x3100, 7, "c" },
    { 0x1000, 0x2000, 7, "outer", 5 },
    { 0x1000, 0x2000, 7, "outer", 5 }, /* one for each address that was hit */
    { 0x1800, 0x1900, 7, "inner", G_MAXUINT32, TRUE },
    { 0x18f0, 0x1910, 7, "later" },
    { 0x3000, 0x3010, 7, "shorter" },
    { 0xffffffff81000000, 0xffffffff81000100, 7, "kernel" },
    { 0x1000, 0x1001, 8, "c" },
    { 0x5000, 0x5000, 8, "empty" },
  };
  guint n_left_out;
  g_autoptr (GByteArray) file = encode (symbols, G_N_ELEMENTS (symbols), 1 << 20, &n_left_out);

  g_assert_cmpuint (n_left_out, ==, 0);
  g_assert_cmpuint (lu_syscap_symbols_count (file), ==, 8);
  g_assert_cmpuint (file->len, ==, 9 * 32 + 1 + strlen ("c outer inner later shorter kernel "));
  g_assert_cmpstr (find (file, 7, 0x1000), ==, "outer");
  g_assert_cmpstr (find (file, 7, 0x1800), ==, "inner");
  g_assert_cmpstr (find (file, 7, 0x300f), ==, "shorter");
  g_assert_cmpstr (find (file, 7, 0x3010), ==, "c");
  g_assert_cmpstr (find (file, 7, 0xffffffff81000010), ==, "kernel");
  g_assert_cmpstr (find (file, 8, 0x1000), ==, "c");
  g_assert_cmpstr (find (file, 7, 0x18ef), ==, "inner");
  g_assert_cmpstr (find (file, 7, 0x18f0), ==, "later");
  g_assert_cmpstr (find (file, 7, 0x190f), ==, "later");
  g_assert_cmpstr (find (file, 7, 0x1910), ==, "outer"); /* on both sides of the inner ones */
  g_assert_null (find (file, 7, 0x2000));
  g_assert_null (find (file, 7, 0xfff));
  g_assert_null (find (file, 7, 0x3100));
  g_assert_null (find (file, 8, 0x1001));
  g_assert_null (find (file, 8, 0x5000));
  g_assert_null (find (file, 9, 0x1000));
}

static void
test_functions (void)
{
  static const LuSyscapSymbol symbols[] = { { 1, 2, 1, "aaa" },
                                            { 2, 3, 1, "bbb", 5 },
                                            { 3, 4, 1, "a+0x3", G_MAXUINT32, TRUE } };
  guint n_left_out;
  g_autoptr (GByteArray) file = encode (symbols, G_N_ELEMENTS (symbols), 1 << 20, &n_left_out);
  LuSyscapSymbol symbol;

  g_assert_true (lu_syscap_symbols_find (file, 3, 1, 1, &symbol));
  g_assert_cmpuint (symbol.function, ==, 0);
  g_assert_false (symbol.is_place);
  g_assert_true (lu_syscap_symbols_find (file, 3, 1, 2, &symbol));
  g_assert_cmpuint (symbol.function, ==, 5);
  g_assert_true (lu_syscap_symbols_find (file, 3, 1, 3, &symbol));
  g_assert_cmpuint (symbol.function, ==, G_MAXINT32); /* 31 bits */
  g_assert_true (symbol.is_place);
}

static void
test_limit (void)
{
  static const LuSyscapSymbol symbols[] = { { 1, 2, 1, "aaa" }, { 2, 3, 1, "bbb" } };
  guint n_left_out;
  g_autoptr (GByteArray) file = encode (symbols, 2, 3 * 32 + 8, &n_left_out);

  g_assert_cmpuint (n_left_out, ==, 1);
  g_assert_cmpuint (file->len, <=, 3 * 32 + 8);
  g_assert_cmpstr (find (file, 1, 1), ==, "aaa");
}

static void
test_empty (void)
{
  guint n_left_out;
  g_autoptr (GByteArray) file = encode (NULL, 0, 1 << 20, &n_left_out);

  g_assert_cmpuint (file->len, ==, 33); /* a byte has to follow the terminator */
  g_assert_null (find (file, 1, 1));
}

/* Whatever the bytes are, a name that is found is a text inside of them. */
static void
test_damaged (void)
{
  static const LuSyscapSymbol symbols[] = { { 1, 9, 1, "aaa" }, { 20, 30, 1, "bbb" } };
  guint n_left_out;
  g_autoptr (GByteArray) file = encode (symbols, 2, 1 << 20, &n_left_out);

  for (guint i = 0; i < file->len; i++)
    for (guint bit = 0; bit < 8; bit++)
      {
        const char *name;

        file->data[i] ^= (guint8) (1u << bit);
        name = find (file, 1, 5);
        g_assert_true (name == NULL
                       || ((const guint8 *) name >= file->data
                           && (const guint8 *) name + strlen (name) < file->data + file->len));
        file->data[i] ^= (guint8) (1u << bit);
      }
  g_byte_array_set_size (file, 40);
  g_assert_null (find (file, 1, 5));
  g_byte_array_set_size (file, 0);
  g_assert_null (find (file, 1, 5));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/output/syscap-symbols/find", test_find);
  g_test_add_func ("/output/syscap-symbols/functions", test_functions);
  g_test_add_func ("/output/syscap-symbols/limit", test_limit);
  g_test_add_func ("/output/syscap-symbols/empty", test_empty);
  g_test_add_func ("/output/syscap-symbols/damaged", test_damaged);
  return g_test_run ();
}
