/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-hex.c - bytes and numbers as hexadecimal digits, there and back. */

#include "base/hex.h"

#include <string.h>

static void
test_bytes (void)
{
  static const guint8 bytes[] = { 0x00, 0x0f, 0xa5, 0xff };
  g_autoptr (GString) text = g_string_new ("@");
  guint8 read[8] = { 0 };
  char digits[9];

  g_assert_true (lu_hex_write (digits, bytes, sizeof bytes) == digits + 8);
  g_assert_cmpstr (digits, ==, "000fa5ff");
  lu_hex_append (text, bytes, sizeof bytes);
  g_assert_cmpstr (text->str, ==, "@000fa5ff");
  g_assert_cmpuint (text->len, ==, 9);
  g_assert_cmpuint (lu_hex_read_bytes ("000FA5ffx0", read, sizeof read), ==, 4);
  g_assert_cmpmem (read, 4, bytes, 4);
  g_assert_cmpuint (lu_hex_read_bytes ("123", read, sizeof read), ==, 1);
  g_assert_cmpuint (lu_hex_read_bytes ("000fa5ff", read, 2), ==, 2);
}

static void
test_numbers (void)
{
  static const struct
  {
    const char *text;
    guint64 value;
    gsize n_digits;
  } cases[] = {
    { "", 0, 0 },
    { "g", 0, 0 },
    { "7f-80", 0x7f, 2 },
    { "FFFFffff81000000 T", G_GUINT64_CONSTANT (0xffffffff81000000), 16 },
    { "11111111111111112", G_GUINT64_CONSTANT (0x1111111111111111), 16 },
    { "\xff", 0, 0 },
  };
  guint64 value;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *text = cases[i].text;

      g_assert_cmpuint (lu_hex_read_number (text, text + strlen (text), &value), ==,
                        cases[i].n_digits);
      g_assert_cmphex (value, ==, cases[i].value);
    }
  g_assert_cmpuint (lu_hex_read_number (cases[2].text, cases[2].text + 1, &value), ==, 1);
  g_assert_cmphex (value, ==, 7);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/hex/bytes", test_bytes);
  g_test_add_func ("/hex/numbers", test_numbers);
  return g_test_run ();
}
