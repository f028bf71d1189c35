/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* eh-frame.c - finds .eh_frame and its search table; see eh-frame.h. */

#include "elf/eh-frame.h"

#include "elf/cfi-guard.h"

#include <elf.h>

/* Bytes of .eh_frame_hdr before its table (LSB Core, 10.6.2). */
#define EH_FRAME_HDR_HEAD 12
#define MAX_PART          (G_GUINT64_CONSTANT (64) << 20)

/* Finds the bytes from an ELF address to the end of its segment in the file. */
static gboolean
find_in_segment (const LuElfHeaders *headers, guint64 vaddr, LuElfPart *part)
{
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *segment = &headers->program_headers[i];
      guint64 delta = vaddr - segment->vaddr;

      if (segment->type != PT_LOAD || vaddr < segment->vaddr || delta >= segment->file_size)
        continue;
      *part = (LuElfPart){ vaddr, segment->file_offset + delta, segment->file_size - delta };
      return TRUE;
    }
  return FALSE;
}

void
lu_elf_find_eh_frame (const LuElfHeaders *headers, const LuElfInput *input, LuElfPart *table,
                      LuElfPart *eh_frame)
{
  const LuElfProgramHeader *header = lu_elf_headers_find_program_header (headers, PT_GNU_EH_FRAME);
  const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, ".eh_frame");
  guint8 head[EH_FRAME_HDR_HEAD];
  guint64 vaddr;

  *table = *eh_frame = (LuElfPart){ 0 };
  if (header != NULL)
    *table = (LuElfPart){ header->vaddr, header->file_offset, header->file_size };
  if (table->size >= sizeof head && lu_elf_input_read (input, table->file_offset, head, sizeof head)
      && lu_cfi_table_eh_frame (head, sizeof head, table->vaddr, &vaddr)
      && find_in_segment (headers, vaddr, eh_frame))
    {
      if (section != NULL && section->vaddr == vaddr
          && section->file_offset == eh_frame->file_offset)
        eh_frame->size = MIN (eh_frame->size, section->size);
    }
  else if (section != NULL)
    *eh_frame = (LuElfPart){ section->vaddr, section->file_offset, section->size };
}

void
lu_elf_part_clip (LuElfPart *part, const LuElfInput *input)
{
  guint64 left = input->size - MIN (part->file_offset, input->size);

  part->size = MIN (part->size, left);
  if (part->size > MAX_PART)
    part->size = 0;
}
