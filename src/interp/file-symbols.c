/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-symbols.c - goes through the symbols of a file; see file-symbols.h. */

#include "interp/file-symbols.h"

#include <elf.h>

/* CPython with all its symbols has 2 MB; with LTO and debug information not more. */
#define MAX_TABLE (32u << 20)

char *
lu_file_section_read (const LuInterpInput *file, const char *name, gsize *size)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (file->headers, name);
  g_autofree char *bytes = NULL;

  if (section == NULL || section->type == SHT_NOBITS || section->size > MAX_TABLE
      || section->size > file->input->size)
    return NULL;
  bytes = g_malloc (section->size + 1);
  bytes[section->size] = 0;
  *size = section->size;
  return lu_elf_input_read (file->input, section->file_offset, bytes, section->size)
             ? g_steal_pointer (&bytes)
             : NULL;
}

static gboolean
is_code_or_data (const Elf64_Sym *symbol)
{
  guint type = ELF64_ST_TYPE (symbol->st_info);

  return (type == STT_FUNC || type == STT_OBJECT) && symbol->st_shndx != SHN_UNDEF
         && symbol->st_shndx != SHN_ABS;
}

static void
each_in (const LuInterpInput *file, const char *const sections[2], LuFileSymbolFunc func,
         gpointer user_data)
{
  gsize size = 0, names_size = 0;
  g_autofree char *bytes = lu_file_section_read (file, sections[0], &size);
  g_autofree char *names =
      bytes != NULL ? lu_file_section_read (file, sections[1], &names_size) : NULL;

  for (gsize i = 0; names != NULL && i + sizeof (Elf64_Sym) <= size; i += sizeof (Elf64_Sym))
    {
      Elf64_Sym symbol;

      memcpy (&symbol, bytes + i, sizeof symbol);
      if (is_code_or_data (&symbol) && symbol.st_name < names_size)
        func (&(LuFileSymbol){ names + symbol.st_name, symbol.st_value, symbol.st_size },
              user_data);
    }
}

void
lu_file_symbols_each (const LuInterpInput *file, LuFileSymbolFunc func, gpointer user_data)
{
  each_in (file, (const char *const[2]){ ".dynsym", ".dynstr" }, func, user_data);
  each_in (file, (const char *const[2]){ ".symtab", ".strtab" }, func, user_data);
}
