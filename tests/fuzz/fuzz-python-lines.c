/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-python-lines.c - tables of lines are memory of the sampled process. The first byte is the
 * format. */

#include "fuzz.h"

#include "interp/python-lines.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GArray) lines = NULL;
  struct lu_interp_table table = { 0 };

  if (size < 2 || size > LU_INTERP_MAX_LINES)
    return 0;
  table.size = (uint16_t) (size - 1);
  table.format = data[0] & 3;
  table.is_cut = data[0] >> 7;
  lines = lu_python_lines_decode (&table, data + 1, 100);
  g_assert (lines->len <= size + 1);
  for (guint i = 0; i + 1 < lines->len; i++)
    g_assert (g_array_index (lines, LuPythonLine, i).start
              < g_array_index (lines, LuPythonLine, i + 1).start);
  for (guint32 instr = 0; instr < 1000; instr += 2)
    lu_python_lines_find (lines, instr);
  return 0;
}
