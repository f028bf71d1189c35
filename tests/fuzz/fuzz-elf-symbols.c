/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-elf-symbols.c - symbols from arbitrary bytes: look-ups end, and a symbol that is found
 * contains the address. */

#include "fuzz.h"
#include "symbolize/demangle.h"
#include "symbolize/elf-symbols.h"

#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuElfSymbols) symbols = lu_elf_symbols_new_from_memory (data, size, NULL);

  if (symbols == NULL)
    return 0;
  for (guint64 offset = 0; offset < 8192; offset += 61)
    {
      LuElfSymbol symbol;
      g_autofree char *readable = NULL;

      if (!lu_elf_symbols_find (symbols, offset, &symbol))
        continue;
      g_assert_cmpuint (symbol.start, <=, offset);
      g_assert_cmpuint (strlen (symbol.name), >, 0);
      readable = lu_demangle (symbol.name);
    }
  return 0;
}
