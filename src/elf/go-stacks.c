/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.c - finds the outermost functions of Go programs; see go-stacks.h. */

#include "elf/go-stacks.h"

#include <elf.h>
#include <string.h>

/* Larger symbol tables are not read. A Go program of 100 MB has 15 MB of symbols. */
#define MAX_SYMBOL_BYTES (64u << 20)
/* They are read in pieces, because a helper has little memory: bytes of names, and symbols. */
#define NAME_PIECE   (64u << 10)
#define SYMBOL_PIECE 2048
/* No name that is looked for is longer, with the suffix of its calling convention. */
#define MAX_NAME 40
/* Each name occurs once, or twice with the two calling conventions (runtime.goexit.abi0). */
#define MAX_FUNCTIONS 32
#define MAX_NAMES     32

static const struct
{
  const char *name;
  LuGoFunctionKind kind;
} special[] = {
  { "runtime.goexit", LU_GO_TOP },
  { "runtime.mstart", LU_GO_TOP },
  { "runtime.rt0_go", LU_GO_TOP },
  { "runtime.mcall", LU_GO_LEAVE },
  { "runtime.morestack", LU_GO_LEAVE },
  { "runtime.systemstack", LU_GO_SWITCH },
  { "runtime.asmcgocall", LU_GO_SWITCH },
  { "gogo", LU_GO_SWITCH },
  { "runtime.asyncPreempt", LU_GO_PREEMPT },
  { "runtime.sigreturn", LU_GO_RESTORER },
  { "runtime.sigreturn__sigaction", LU_GO_RESTORER },
};

/* A name that is looked for, where the table of names has it. */
typedef struct
{
  guint64 at;
  LuGoFunctionKind kind;
} Name;

typedef struct
{
  const LuElfInput *input;
  GArray *names;     /* array of Name */
  GArray *functions; /* array of LuGoFunction */
} Search;

static const LuElfSectionHeader *
find_section (const LuElfHeaders *headers, const char *name)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, name);

  return section == NULL || section->size > MAX_SYMBOL_BYTES
                 || (section->flags & SHF_COMPRESSED) != 0
             ? NULL
             : section;
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

/* Notes the names with this prefix that begin in the first `size` bytes of a text, which goes on
 * for MAX_NAME bytes and then ends with a NUL. */
static void
note_names (Search *self, const char *prefix, const char *text, gsize size, guint64 at)
{
  const char *name = text;

  while ((name = memmem (name, (gsize) (text + size + MAX_NAME - name), prefix, strlen (prefix)))
             != NULL
         && name < text + size && self->names->len < MAX_NAMES)
    {
      Name found = { .at = at + (guint64) (name - text), .kind = kind_of (name) };

      if (found.kind != LU_GO_ORDINARY)
        g_array_append_val (self->names, found);
      name++;
    }
}

static gboolean
find_names (Search *self, const LuElfSectionHeader *section)
{
  g_autofree char *text = g_malloc (NAME_PIECE + MAX_NAME + 1);

  for (guint64 at = 0; at < section->size; at += NAME_PIECE)
    {
      gsize left = section->size - at, n = MIN (left, NAME_PIECE + MAX_NAME);

      if (!lu_elf_input_read (self->input, section->file_offset + at, text, n))
        return FALSE;
      memset (text + n, 0, NAME_PIECE + MAX_NAME + 1 - n);
      note_names (self, "runtime.", text, MIN (n, NAME_PIECE), at);
      note_names (self, "gogo", text, MIN (n, NAME_PIECE), at);
    }
  return TRUE;
}

static void
note_symbol (Search *self, const Elf64_Sym *symbol)
{
  for (guint i = 0; i < self->names->len; i++)
    {
      const Name *name = &g_array_index (self->names, Name, i);
      LuGoFunction function = { .start = symbol->st_value,
                                .end = symbol->st_value + symbol->st_size,
                                .kind = name->kind };

      if (name->kind == LU_GO_RESTORER)
        function = (LuGoFunction){ function.start - 1, function.start, name->kind };
      if (name->at == symbol->st_name && function.end > function.start
          && self->functions->len < MAX_FUNCTIONS)
        g_array_append_val (self->functions, function);
    }
}

static gboolean
find_functions (Search *self, const LuElfSectionHeader *section)
{
  g_autofree Elf64_Sym *symbols = g_new (Elf64_Sym, SYMBOL_PIECE);
  guint64 n = section->size / sizeof *symbols;

  for (guint64 at = 0; at < n; at += SYMBOL_PIECE)
    {
      gsize n_read = MIN (n - at, SYMBOL_PIECE);

      if (!lu_elf_input_read (self->input, section->file_offset + at * sizeof *symbols, symbols,
                              n_read * sizeof *symbols))
        return FALSE;
      for (gsize i = 0; i < n_read; i++)
        if (ELF64_ST_TYPE (symbols[i].st_info) == STT_FUNC)
          note_symbol (self, &symbols[i]);
    }
  return TRUE;
}

GArray *
lu_go_functions_read (const LuElfHeaders *headers, const LuElfInput *input)
{
  const LuElfSectionHeader *symbols = find_section (headers, ".symtab");
  const LuElfSectionHeader *names = find_section (headers, ".strtab");
  g_autoptr (GArray) all_names = g_array_new (FALSE, FALSE, sizeof (Name));
  g_autoptr (GArray) functions = g_array_new (FALSE, FALSE, sizeof (LuGoFunction));
  Search search = { input, all_names, functions };

  if (!headers->is_64bit || symbols == NULL || names == NULL
      || lu_elf_headers_find_section (headers, ".go.buildinfo") == NULL)
    return NULL;
  return find_names (&search, names) && find_functions (&search, symbols)
             ? g_steal_pointer (&functions)
             : NULL;
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

gboolean
lu_go_stack_ends (LuGoFunctionKind kind, gboolean is_caller, LuStatus *status)
{
  gboolean has_no_caller = is_caller && (kind == LU_GO_TOP || kind == LU_GO_LEAVE);

  *status = has_no_caller ? LU_STATUS_COMPLETE : LU_STATUS_OTHER_STACK;
  return has_no_caller || kind == LU_GO_LEAVE || kind == LU_GO_SWITCH;
}
