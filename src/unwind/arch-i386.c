/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch-i386.c - i386, as a 32-bit task on a 64-bit kernel; see arch.h.
 *
 * All words of the 64-bit mask are in such a sample, R8 to R15 with garbage. DWARF numbers: System
 * V ABI, Intel386 supplement, table 2.14 (.eh_frame on Linux uses the same). */

#include "unwind/arch.h"

#include <elf.h>

const LuArch lu_arch_i386 = {
  .name = "i386",
  .machine = EM_386,
  .word_size = 4,
  .mask = 0x1ff,
  .perf_sp = 7,
  .perf_pc = 8,
  .dwarf_sp = 4,
  .dwarf_fp = 5,
  .address_mask = G_MAXUINT32,
  .n_registers = 9,
  .dwarf_numbers = {
    0, /* AX */
    3, /* BX */
    1, /* CX */
    2, /* DX */
    6, /* SI */
    7, /* DI */
    5, /* BP */
    4, /* SP */
    8, /* IP: the column of the return address */
  },
};
