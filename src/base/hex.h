/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hex.h - hexadecimal digits: build-ids, digests and addresses as text. */

#pragma once

#include <glib.h>

/* The digits that we write. */
#define LU_HEX_DIGITS "0123456789abcdef"

/* Returns 0 to 15, or -1 if `c` is no hexadecimal digit. Upper case is accepted. */
static inline gint
lu_hex_value (char c)
{
  static const guint8 values_plus_1[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
  };

  return values_plus_1[(guchar) c] - 1;
}

/* Writes two digits for each byte, then a NUL. Returns the position of the NUL. */
static inline char *
lu_hex_write (char *text, const guint8 *bytes, gsize size)
{
  for (gsize i = 0; i < size; i++)
    {
      *text++ = LU_HEX_DIGITS[bytes[i] >> 4];
      *text++ = LU_HEX_DIGITS[bytes[i] & 15];
    }
  *text = '\0';
  return text;
}

/* Appends two digits for each byte. */
static inline void
lu_hex_append (GString *text, const guint8 *bytes, gsize size)
{
  gsize before = text->len;

  g_string_set_size (text, before + 2 * size);
  lu_hex_write (text->str + before, bytes, size);
}

/* Reads pairs of digits into at most `size` bytes. Returns the number of bytes read. */
static inline gsize
lu_hex_read_bytes (const char *text, guint8 *bytes, gsize size)
{
  gsize n = 0;

  for (; n < size && lu_hex_value (text[0]) >= 0 && lu_hex_value (text[1]) >= 0; text += 2)
    bytes[n++] = (guint8) (lu_hex_value (text[0]) << 4 | lu_hex_value (text[1]));
  return n;
}

/* Reads a number of at most 16 digits, not beyond `end`. Returns the number of digits. */
static inline gsize
lu_hex_read_number (const char *text, const char *end, guint64 *value)
{
  gsize n = 0;

  *value = 0;
  for (; n < 16 && text + n < end && lu_hex_value (text[n]) >= 0; n++)
    *value = *value << 4 | (guint) lu_hex_value (text[n]);
  return n;
}
