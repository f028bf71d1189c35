/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.c - finds the outermost functions of Go programs; see go-stacks.h. */

#include "elf/go-stacks.h"

#include <elf.h>
#include <string.h>

/* Larger symbol tables are not read. A Go program of 100 MB has 15 MB of symbols. */
#define MAX_SYMBOL_BYTES (64u << 20)
/* Each name occurs once, or twice with the two calling conventions (runtime.goexit.abi0). */
#define MAX_FUNCTIONS 32

static const struct
{
  const char *name;
  LuGoFunctionKind kind;
} special[] = {
  { "runtime.goexit", LU_GO_TOP },        { "runtime.mstart", LU_GO_TOP },
  { "runtime.rt0_go", LU_GO_TOP },        { "runtime.mcall", LU_GO_TOP },
  { "runtime.morestack", LU_GO_TOP },     { "runtime.systemstack", LU_GO_SWITCH },
  { "runtime.asmcgocall", LU_GO_SWITCH },
};

typedef struct
{
  guint8 *bytes; /* owned */
  gsize size;
} Section;

static gboolean
read_section (Section *self, const LuElfHeaders *headers, const LuElfInput *input, const char *name)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, name);

  if (section == NULL || section->size > MAX_SYMBOL_BYTES || (section->flags & SHF_COMPRESSED) != 0)
    return FALSE;
  self->bytes = g_try_malloc (section->size);
  self->size = section->size;
  return self->bytes != NULL
         && lu_elf_input_read (input, section->file_offset, self->bytes, self->size);
}

/* Compares the name without the suffix of its calling convention. */
static LuGoFunctionKind
kind_of (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (special); i++)
    {
      gsize length = strlen (special[i].name);

      if (strncmp (name, special[i].name, length) == 0
          && (name[length] == 0 || strncmp (name + length, ".abi", 4) == 0))
        return special[i].kind;
    }
  return LU_GO_ORDINARY;
}

static void
collect (GArray *functions, const Section *symbols, const Section *names)
{
  for (gsize at = 0; at + sizeof (Elf64_Sym) <= symbols->size; at += sizeof (Elf64_Sym))
    {
      Elf64_Sym symbol;
      LuGoFunction function;

      memcpy (&symbol, symbols->bytes + at, sizeof symbol);
      if (ELF64_ST_TYPE (symbol.st_info) != STT_FUNC || symbol.st_name >= names->size
          || functions->len >= MAX_FUNCTIONS)
        continue;
      function = (LuGoFunction){ .start = symbol.st_value,
                                 .end = symbol.st_value + symbol.st_size,
                                 .kind = kind_of ((const char *) names->bytes + symbol.st_name) };
      if (function.kind != LU_GO_ORDINARY && function.end > function.start)
        g_array_append_val (functions, function);
    }
}

GArray *
lu_go_functions_read (const LuElfHeaders *headers, const LuElfInput *input)
{
  Section symbols = { 0 }, names = { 0 };
  GArray *functions = NULL;

  if (!headers->is_64bit || lu_elf_headers_find_section (headers, ".go.buildinfo") == NULL)
    return NULL;
  if (read_section (&symbols, headers, input, ".symtab")
      && read_section (&names, headers, input, ".strtab") && names.size > 0
      && names.bytes[names.size - 1] == 0)
    {
      functions = g_array_new (FALSE, FALSE, sizeof (LuGoFunction));
      collect (functions, &symbols, &names);
    }
  g_free (symbols.bytes);
  g_free (names.bytes);
  return functions;
}

LuGoFunctionKind
lu_go_functions_find (const GArray *functions, guint64 elf_address)
{
  for (guint i = 0; functions != NULL && i < functions->len; i++)
    {
      const LuGoFunction *function = &g_array_index (functions, LuGoFunction, i);

      if (elf_address >= function->start && elf_address < function->end)
        return function->kind;
    }
  return LU_GO_ORDINARY;
}
