/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* linkage.c - names between files; see linkage.h. */

#include "symbolize/linkage.h"

#include "arch/arch.h"
#include "symbolize/elf-plt.h"

#include <elf.h>

#define MAX_TABLE (64u << 20)

struct _LuLinkage
{
  Elf64_Sym *symbols; /* owned */
  guint n_symbols;
  char *names; /* owned, ends in NUL */
  gsize names_size;
  GHashTable *entries, *slots; /* address -> symbol */
  GHashTable *defined;         /* name -> symbol, or 0 for LU_LINKAGE_OTHER; NULL: not needed yet */
};

/* Returns a section's bytes and a NUL, owned by the caller; NULL if they cannot be had. */
static gpointer
read_section (const LuElfFile *file, const char *name, LuBudget *budget, gsize *size)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&file->headers, name);
  g_autofree char *bytes = NULL;

  if (section == NULL || section->size > MAX_TABLE || !lu_budget_read (budget, section->size))
    return NULL;
  *size = (gsize) section->size;
  bytes = g_malloc (*size + 1);
  bytes[*size] = 0;
  return lu_elf_input_read (&file->input, section->file_offset, bytes, *size)
             ? g_steal_pointer (&bytes)
             : NULL;
}

/* table: entries or slots. */
static void
add_place (guint64 start, guint64 size, guint32 symbol, gpointer table)
{
  (void) size;
  g_hash_table_insert (table, (gpointer) (guintptr) start, GUINT_TO_POINTER (symbol));
}

LuLinkage *
lu_linkage_new (const LuElfFile *file, LuBudget *budget)
{
  LuLinkage *self = g_new0 (LuLinkage, 1);
  gsize size = 0;

  self->entries = g_hash_table_new (NULL, NULL);
  self->slots = g_hash_table_new (NULL, NULL);
  if (!file->headers.is_64bit)
    return self;
  self->names = read_section (file, ".dynstr", budget, &self->names_size);
  self->symbols = self->names != NULL ? read_section (file, ".dynsym", budget, &size) : NULL;
  if (self->symbols == NULL)
    return self;
  self->n_symbols = (guint) (size / sizeof *self->symbols);
  lu_elf_linkage_each (file, budget, add_place, self->entries, self->slots);
  return self;
}

void
lu_linkage_free (LuLinkage *self)
{
  if (self == NULL)
    return;
  g_free (self->symbols);
  g_free (self->names);
  g_hash_table_unref (self->entries);
  g_hash_table_unref (self->slots);
  g_clear_pointer (&self->defined, g_hash_table_unref);
  g_free (self);
}

static const char *
name_of (const LuLinkage *self, guint symbol)
{
  return symbol > 0 && symbol < self->n_symbols && self->symbols[symbol].st_name < self->names_size
             ? self->names + self->symbols[symbol].st_name
             : NULL;
}

static const char *
name_at (const LuLinkage *self, GHashTable *table, guint64 address)
{
  gpointer symbol = g_hash_table_lookup (table, (gpointer) (guintptr) address);

  return name_of (self, GPOINTER_TO_UINT (symbol));
}

const char *
lu_linkage_of_entry (const LuLinkage *self, guint64 address)
{
  return name_at (self, self->entries, address);
}

const char *
lu_linkage_of_slot (const LuLinkage *self, guint64 address)
{
  return name_at (self, self->slots, address);
}

static gboolean
is_function (const Elf64_Sym *symbol)
{
  return ELF64_ST_TYPE (symbol->st_info) == STT_FUNC && symbol->st_value != 0;
}

static void
learn_names (LuLinkage *self)
{
  self->defined = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 1; i < self->n_symbols; i++)
    {
      const Elf64_Sym *symbol = &self->symbols[i];
      const char *name = name_of (self, i);
      gpointer before;
      gboolean is_one = is_function (symbol);

      if (name == NULL || symbol->st_shndx == SHN_UNDEF)
        continue;
      if (is_one && g_hash_table_lookup_extended (self->defined, name, NULL, &before))
        is_one =
            before != NULL && self->symbols[GPOINTER_TO_UINT (before)].st_value == symbol->st_value;
      g_hash_table_insert (self->defined, (gpointer) name, GUINT_TO_POINTER (is_one ? i : 0));
    }
}

LuLinkageKind
lu_linkage_find (LuLinkage *self, const char *name, guint64 *address)
{
  gpointer symbol;

  if (self->defined == NULL)
    learn_names (self);
  if (!g_hash_table_lookup_extended (self->defined, name, NULL, &symbol))
    return LU_LINKAGE_NONE;
  if (symbol == NULL)
    return LU_LINKAGE_OTHER;
  *address = self->symbols[GPOINTER_TO_UINT (symbol)].st_value;
  return LU_LINKAGE_ONE;
}

/* Pointers */

/* Finds the relocation that adds the load address to a word. They are first, in the order of the
 * words. */
static gboolean
find_relative (const LuElfFile *file, guint64 address, LuBudget *budget, Elf64_Rela *rela)
{
  const LuArch *arch = lu_arch_with_tables (file->headers.machine);
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&file->headers, ".rela.dyn");
  guint64 low = 0, high = section != NULL && arch != NULL ? section->size / sizeof *rela : 0;

  while (low < high)
    {
      guint64 middle = low + (high - low) / 2;

      if (!lu_budget_read (budget, sizeof *rela)
          || !lu_elf_input_read (&file->input, section->file_offset + middle * sizeof *rela, rela,
                                 sizeof *rela))
        return FALSE;
      if (ELF64_R_TYPE (rela->r_info) == arch->files.rela_relative && rela->r_offset == address)
        return TRUE;
      if (ELF64_R_TYPE (rela->r_info) == arch->files.rela_relative && rela->r_offset < address)
        low = middle + 1;
      else
        high = middle;
    }
  return FALSE;
}

gboolean
lu_linkage_find_pointer (const LuElfFile *file, guint64 address, LuBudget *budget, guint64 *pointer)
{
  Elf64_Rela rela;

  if (!file->headers.is_64bit)
    return FALSE;
  if (find_relative (file, address, budget, &rela))
    {
      *pointer = (guint64) rela.r_addend;
      return TRUE;
    }
  /* The file has it in a program that is loaded where it was linked, or with packed relocations. */
  return lu_budget_read (budget, sizeof *pointer)
         && lu_elf_headers_read_at (&file->headers, &file->input, address, pointer, sizeof *pointer)
         && *pointer != 0;
}
