/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-kallsyms.c - kernel symbols from arbitrary text (which a capture may contain): the table is
 * sorted, and each function is found at its first and last byte. */

#include "fuzz.h"
#include "symbolize/kallsyms.h"

#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LuKallsyms) kallsyms = lu_kallsyms_parse ((const char *) data, size, &error);
  LuKernelSymbol symbol;

  g_assert_true ((kallsyms != NULL) == (error == NULL));
  if (kallsyms == NULL)
    return 0;
  for (guint i = 0; i < lu_kallsyms_size (kallsyms); i++)
    {
      lu_kallsyms_get (kallsyms, i, &symbol);
      g_assert_cmphex (symbol.address, <=, symbol.end);
      g_assert_cmpuint (strlen (symbol.name), >, 0);
      g_assert_true (symbol.module == NULL || strlen (symbol.module) > 0);
      if (symbol.address < symbol.end)
        {
          LuKernelSymbol found;

          g_assert_true (lu_kallsyms_find (kallsyms, symbol.address, &found));
          g_assert_cmphex (found.address, ==, symbol.address);
          g_assert_true (lu_kallsyms_find (kallsyms, symbol.end - 1, &found));
          g_assert_cmphex (found.address, ==, symbol.address);
        }
    }
  return 0;
}
