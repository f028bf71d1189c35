/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-fdes.c - where functions without a symbol begin; see elf-fdes.h.
 *
 * The bytes are read once, and the reader of the table compiler (table/cfi.h) checks each entry. It
 * reads CIEs and FDEs only, no rules. */

#include "symbolize/elf-fdes.h"

#include "elf/eh-frame.h"
#include "table/cfi.h"

#include <elf.h>

/* Browsers and compilers, the largest programs, have some 30 MB. */
#define MAX_PART (64u << 20)
/* FDEs that are listed if no search table leads to them. */
#define MAX_LISTED (256u << 10)

struct _LuElfFdes
{
  LuBudget *budget;
  guint8 *table, *eh_frame;
  LuCfi *cfi;
};

/* Reads a part of the file; NULL if it is not there. */
static guint8 *
read_part (const LuElfFile *file, const LuElfPart *part, LuBudget *budget, gsize *size)
{
  g_autofree guint8 *bytes = NULL;

  if (part->file_offset >= file->input.size)
    return NULL;
  *size = (gsize) MIN (part->size, file->input.size - part->file_offset);
  if (*size == 0 || *size > MAX_PART || !lu_budget_read (budget, *size))
    return NULL;
  bytes = g_malloc (*size);
  return lu_elf_input_read (&file->input, part->file_offset, bytes, *size)
             ? g_steal_pointer (&bytes)
             : NULL;
}

static LuCfi *
make_cfi (const LuElfFile *file, LuCfiInput *input)
{
  const LuElfHeaders *headers = &file->headers;
  const LuElfSectionHeader *text = lu_elf_headers_find_section (headers, ".text");
  g_autofree LuCodeRange *ranges = g_new0 (LuCodeRange, headers->n_program_headers + 1);

  /* Without executable code, one empty range refuses everything. */
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &headers->program_headers[i];

      if (header->type == PT_LOAD && (header->flags & PF_X) != 0)
        ranges[input->n_ranges++] =
            (LuCodeRange){ header->vaddr, header->vaddr + header->memory_size };
    }
  input->n_ranges = MAX (input->n_ranges, 1);
  input->ranges = ranges;
  input->machine = headers->machine;
  input->max_listed = MAX_LISTED;
  input->sections[LU_CFI_EH_FRAME].text_base = text != NULL ? text->vaddr : 0;
  return lu_cfi_new (input);
}

LuElfFdes *
lu_elf_fdes_new (const LuElfFile *file, LuBudget *budget)
{
  g_autoptr (LuElfFdes) self = g_new0 (LuElfFdes, 1);
  LuElfPart table, eh_frame;
  LuCfiInput input = { 0 };
  LuCfiBytes *section = &input.sections[LU_CFI_EH_FRAME];

  if (!file->headers.is_64bit)
    return NULL;
  self->budget = budget;
  lu_elf_find_eh_frame (&file->headers, &file->input, &table, &eh_frame);
  self->eh_frame = read_part (file, &eh_frame, budget, &section->size);
  if (self->eh_frame == NULL)
    return NULL;
  self->table = read_part (file, &table, budget, &input.table_size);
  section->bytes = self->eh_frame;
  section->vaddr = eh_frame.vaddr;
  section->is_eh_frame = TRUE;
  section->data_base = input.table_vaddr = table.vaddr;
  input.table = self->table;
  self->cfi = make_cfi (file, &input);
  return self->cfi != NULL ? g_steal_pointer (&self) : NULL;
}

void
lu_elf_fdes_free (LuElfFdes *self)
{
  if (self == NULL)
    return;
  lu_cfi_free (self->cfi);
  g_free (self->table);
  g_free (self->eh_frame);
  g_free (self);
}

gboolean
lu_elf_fdes_find (LuElfFdes *self, guint64 vaddr, guint64 *start, guint64 *end)
{
  guint64 from;
  LuFde fde;

  if (!lu_budget_read (self->budget, 0) || !lu_cfi_find (self->cfi, vaddr, &fde, &from, end))
    return FALSE;
  *start = fde.start;
  return TRUE;
}
