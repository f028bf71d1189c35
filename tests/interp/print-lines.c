/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* print-lines.c - reads "FORMAT FIRST-LINE TABLE OFFSET…" in each line of its input, the table as
 * hexadecimal digits, and prints the lines of these offsets. test_lines.py compares them. */

#include "interp/python-lines.h"

#include <stdio.h>
#include <string.h>

static gsize
read_table (const char *digits, guint8 bytes[LU_INTERP_MAX_LINES])
{
  gsize n = MIN (strlen (digits) / 2, LU_INTERP_MAX_LINES - 1);

  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8) (g_ascii_xdigit_value (digits[2 * i]) << 4
                         | g_ascii_xdigit_value (digits[2 * i + 1]));
  return n;
}

static void
answer (const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  guint8 bytes[LU_INTERP_MAX_LINES];
  struct lu_interp_table table = { .format = (uint8_t) g_ascii_strtoull (words[0], NULL, 10) };
  g_autoptr (GArray) lines = NULL;

  table.size = (uint16_t) read_table (words[2], bytes);
  lines = lu_python_lines_decode (&table, bytes, (guint32) g_ascii_strtoull (words[1], NULL, 10));
  for (guint i = 3; words[i] != NULL; i++)
    printf ("%u ", lu_python_lines_find (lines, (guint32) g_ascii_strtoull (words[i], NULL, 10)));
  printf ("\n");
}

int
main (void)
{
  g_autofree char *line = NULL;
  size_t size = 0;
  ssize_t n;

  while ((n = getline (&line, &size, stdin)) > 0)
    {
      g_strchomp (line);
      answer (line);
    }
  return 0;
}
