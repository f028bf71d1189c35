/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-elf-symbols.c - symbols and FDEs from arbitrary bytes: look-ups end, and a function that is
 * found contains the address. */

#include "fuzz.h"
#include "symbolize/demangle.h"
#include "symbolize/elf-cold.h"
#include "symbolize/elf-fdes.h"
#include "symbolize/elf-symbols.h"

#include <string.h>

static void
look_for_fdes (const LuElfFile *file)
{
  g_autoptr (LuElfFdes) fdes = lu_elf_fdes_new (file, NULL);

  for (guint64 address = 0; fdes != NULL && address < 8192; address += 61)
    {
      guint64 start, end;

      if (!lu_elf_fdes_find (fdes, address, &start, &end))
        continue;
      g_assert_cmpuint (start, <=, address);
      g_assert_cmpuint (end, >, address);
    }
}

/* A cold part leads to code of the file, or nowhere. */
static void
join_parts (LuElfSymbols *symbols)
{
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (LuColdPart));

  g_array_set_clear_func (parts, lu_cold_part_clear);
  for (guint64 offset = 0; offset < 8192; offset += 8)
    {
      LuElfSymbol symbol;
      LuColdPart part = { .start = offset };

      if (lu_elf_symbols_find (symbols, offset, &symbol))
        part.function_name = lu_cold_function_name (symbol.name);
      if (part.function_name != NULL)
        g_array_append_val (parts, part);
    }
  lu_cold_parts_join (symbols, parts);
  for (guint i = 0; i < parts->len; i++)
    {
      guint64 function = g_array_index (parts, LuColdPart, i).function;

      g_assert_true (function == G_MAXUINT64
                     || lu_elf_file_code_at_offset (lu_elf_symbols_file (symbols), function)
                            != NULL);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuElfSymbols) symbols = lu_elf_symbols_new_from_memory (data, size, NULL);

  if (symbols == NULL)
    return 0;
  look_for_fdes (lu_elf_symbols_file (symbols));
  join_parts (symbols);
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
