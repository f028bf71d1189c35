/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ruby-code.c - finds Ruby's rb_vm_exec() by the table of its instructions; see ruby-code.h. */

#include "interp/ruby-code.h"

#include "interp/fde-table.h"
#include "interp/file-symbols.h"

#include <elf.h>
#include <string.h>

/* Tables have 202 to 220 words in 2.7 to 3.4. The next larger one in these files has 98. */
#define MIN_TABLE 150

/* Relocations of one word after the other whose values are behind the beginning of one FDE. */
typedef struct
{
  guint32 fde;
  guint64 next; /* where the next word would be */
  guint n;
} Run;

static void
take_relocation (Run *self, const LuFdeTable *table, const Elf64_Rela *relocation)
{
  guint64 value = (guint64) relocation->r_addend;
  guint32 fde = lu_fde_table_find (table, value);

  if (self->n == 0 || relocation->r_offset != self->next || fde != self->fde)
    self->n = 0;
  self->n = value > lu_fde_table_start (table, fde) ? self->n + 1 : 0;
  self->fde = fde;
  self->next = relocation->r_offset + sizeof (guint64);
}

/* Returns the function of the first run that is long enough; one of size 0: there is none. Values
 * behind all code are not in the last FDE. */
static LuInterpRange
find_core (const LuInterpInput *file, const LuFdeTable *table)
{
  gsize size = 0;
  g_autofree char *bytes = lu_file_section_read (file, ".rela.dyn", &size);
  LuInterpRange core;
  Run run = { 0 };

  for (gsize i = 0; bytes != NULL && i + sizeof (Elf64_Rela) <= size; i += sizeof (Elf64_Rela))
    {
      Elf64_Rela relocation;

      memcpy (&relocation, bytes + i, sizeof relocation);
      if (ELF64_R_TYPE (relocation.r_info) != file->arch->files.rela_relative)
        continue;
      take_relocation (&run, table, &relocation);
      if (run.n == MIN_TABLE && lu_fde_table_range (table, file, run.fde, &core)
          && (guint64) relocation.r_addend < core.end)
        return core;
    }
  return (LuInterpRange){ 0 };
}

/* Finds the one function that calls another one. Looks at bytes without decoding instructions: what
 * looks like such a call in the middle of an instruction leads somewhere in 4 GiB. FALSE: there are
 * several, or none. */
static gboolean
find_caller (const LuInterpInput *file, const LuFdeTable *table, guint64 called,
             LuInterpRange *caller)
{
  const LuElfSectionHeader *text = lu_elf_headers_find_section (file->headers, ".text");
  gsize size = 0;
  g_autofree char *code = lu_file_section_read (file, ".text", &size);

  *caller = (LuInterpRange){ 0 };
  for (gsize i = 0; code != NULL && i + 5 <= size; i++)
    {
      guint64 at = text->vaddr + i;
      gint32 distance;

      if ((guint8) code[i] != 0xe8)
        continue;
      memcpy (&distance, code + i + 1, sizeof distance);
      if (at + 5 + (guint64) (gint64) distance != called
          || (at >= caller->start && at < caller->end))
        continue;
      if (caller->end != 0 || !lu_fde_table_range_at (table, file, at, caller))
        return FALSE;
    }
  return caller->end != 0;
}

gboolean
lu_ruby_code_find (const LuInterpInput *file, LuInterpRange *function)
{
  LuFdeTable table = { 0 };
  LuInterpRange core;
  gboolean is_found = FALSE;

  if (lu_fde_table_read (&table, file))
    {
      core = find_core (file, &table);
      is_found = core.end != 0 && find_caller (file, &table, core.start, function);
    }
  lu_fde_table_clear (&table);
  return is_found;
}
