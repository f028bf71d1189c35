/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vdso-cfi.c - see vdso-cfi.h. */

#include "elf/vdso-cfi.h"

#include "arch/arch.h"

#include <elf.h>

/* Real vDSOs have half a dozen. */
#define MAX_SYMBOLS 256

static gboolean
find_text (LuArchText *text, const LuElfHeaders *headers, const LuElfInput *input)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, ".text");

  if (section == NULL || section->file_offset > input->size
      || section->size > input->size - section->file_offset)
    return FALSE;
  *text = (LuArchText){ .bytes = input->bytes + section->file_offset,
                        .vaddr = section->vaddr,
                        .size = section->size };
  return TRUE;
}

/* Adds the functions of the text (of LuArchRange). */
static void
find_functions (GArray *functions, const LuArchText *text, const LuElfHeaders *headers,
                const LuElfInput *input)
{
  const LuElfSectionHeader *symbols = lu_elf_headers_find_section (headers, ".dynsym");
  Elf64_Sym symbol;

  for (guint i = 0; symbols != NULL && i < MIN (symbols->size / sizeof symbol, MAX_SYMBOLS); i++)
    {
      LuArchRange range;

      if (!lu_elf_input_read (input, symbols->file_offset + i * sizeof symbol, &symbol,
                              sizeof symbol))
        return;
      range.start = symbol.st_value - text->vaddr;
      range.end = range.start + symbol.st_size;
      if (ELF64_ST_TYPE (symbol.st_info) == STT_FUNC && range.start < range.end
          && range.end <= text->size)
        g_array_append_val (functions, range);
    }
}

void
lu_vdso_describe (const LuElfHeaders *headers, const LuElfInput *input,
                  const LuSyntheticSection *eh_frame, LuSyntheticSection *debug_frame)
{
  const LuArch *arch = lu_arch_with_tables (headers->machine);
  g_autoptr (GArray) functions = NULL;
  GByteArray *made;
  LuArchText text;

  if (arch == NULL || arch->files.describe_vdso == NULL || !headers->is_64bit
      || input->bytes == NULL || eh_frame->size > 0 || debug_frame->size > 0
      || !find_text (&text, headers, input))
    return;
  functions = g_array_new (FALSE, FALSE, sizeof (LuArchRange));
  find_functions (functions, &text, headers, input);
  made = arch->files.describe_vdso (&text, (const LuArchRange *) functions->data, functions->len);
  if (made == NULL)
    return;
  debug_frame->size = made->len;
  debug_frame->bytes = g_byte_array_free (made, FALSE);
}
