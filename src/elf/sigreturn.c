/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sigreturn.c - see sigreturn.h. */

#include "elf/sigreturn.h"

#include <elf.h>
#include <string.h>

/* mov x8, #__NR_rt_sigreturn (139); svc #0 */
static const guint8 code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

#define INSTRUCTION 4

static gboolean
find_in_segment (const LuElfProgramHeader *segment, const LuElfInput *input, guint64 *vaddr)
{
  const guint8 *bytes = input->bytes + segment->file_offset;

  if (segment->type != PT_LOAD || (segment->flags & PF_X) == 0 || segment->file_offset > input->size
      || segment->file_size > input->size - segment->file_offset)
    return FALSE;
  for (guint64 at = INSTRUCTION; at + sizeof code <= segment->file_size; at += INSTRUCTION)
    if (memcmp (bytes + at, code, sizeof code) == 0)
      {
        *vaddr = segment->vaddr + at;
        return TRUE;
      }
  return FALSE;
}

/* A handler returns to the first byte, so that what is looked up is the byte before: there is an
 * instruction for it, which nobody executes. */
static void
describe (guint64 vaddr, LuSyntheticSection *debug_frame)
{
  /* DWARF 5, 6.4.1: CIE with CFA = x29, x29 at CFA + 0, x30 at CFA + 8; FDE. */
  static const guint8 entries[] = {
    /* CIE: version 1, "zS", code 1, data -8, x30 */
    24, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 'z', 'S', 0, 1, 0x78, 30, 0,
    /* its instructions: def_cfa, offset, offset_extended_sf, nop */
    0x0c, 29, 0, 0x9d, 0, 0x11, 30, 0x7f, 0, 0, 0, 0,
    /* FDE: start (filled in), size, no data */
    28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INSTRUCTION + sizeof code, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0
  };
  const guint64 start = vaddr - INSTRUCTION;

  debug_frame->bytes = g_memdup2 (entries, sizeof entries);
  debug_frame->size = sizeof entries;
  memcpy (debug_frame->bytes + 36, &start, sizeof start);
}

void
lu_sigreturn_describe (const LuElfHeaders *headers, const LuElfInput *input,
                       LuSyntheticSection *debug_frame)
{
  guint64 vaddr;

  if (headers->machine != EM_AARCH64 || !headers->is_64bit || input->bytes == NULL
      || debug_frame->bytes != NULL)
    return;
  for (guint i = 0; i < headers->n_program_headers; i++)
    if (find_in_segment (&headers->program_headers[i], input, &vaddr))
      {
        describe (vaddr, debug_frame);
        return;
      }
}
