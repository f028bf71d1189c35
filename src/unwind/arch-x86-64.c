/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch-x86-64.c - x86-64; see arch.h.
 *
 * perf order: enum perf_event_x86_regs (asm/perf_regs.h). DWARF numbers: System V ABI, AMD64
 * supplement, figure 3.36. The kernel refuses DS, ES, FS and GS; flags and the other segments do
 * not unwind. */

#include "unwind/arch.h"

#include <elf.h>

const LuArch lu_arch_x86_64 = {
  .name = "x86-64",
  .machine = EM_X86_64,
  .word_size = 8,
  .mask = 0xff01ff,
  .perf_sp = 7,
  .perf_pc = 8,
  .dwarf_sp = 7,
  .dwarf_fp = 6,
  .address_mask = G_MAXUINT64,
  .n_registers = 24,
  .dwarf_numbers = {
    0,  /* AX */
    3,  /* BX */
    2,  /* CX */
    1,  /* DX */
    4,  /* SI */
    5,  /* DI */
    6,  /* BP */
    7,  /* SP */
    16, /* IP: the column of the return address */
    -1, -1, -1, -1, -1, -1, -1, /* FLAGS, segments */
    8, 9, 10, 11, 12, 13, 14, 15, /* R8 ... R15 */
  },
};
