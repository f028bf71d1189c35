/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* i386.c - i386, as a 32-bit task on a 64-bit kernel; see arch.h.
 *
 * A sample of such a task has all words of the 64-bit mask; R8 to R15 are garbage. DWARF numbers:
 * System V ABI, Intel386 supplement, table 2.14; .eh_frame on Linux uses the same. No tables are
 * made of 32-bit files, so nothing that only they need is said here. */

#include "arch/x86-64/x86.h"

#include <elf.h>

const LuArch lu_arch_i386 = {
  .name = "i386",
  .machine = EM_386,
  .word_size = 4,
  .address_mask = G_MAXUINT32,
  .mask = 0x1ff,
  .perf_sp = 7,
  .perf_pc = 8,
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
  .sp = 4,
  .fp = 5,
  .bx = LU_ARCH_NO_REGISTER,
  .ra = 8,
  .syscall_return = LU_ARCH_NO_REGISTER,
  .decode_call = lu_x86_decode_call,
  .is_plt_entry = lu_x86_is_plt_entry,
  .cfi_finds_interrupted_stack = TRUE,
  .files.decoded_bits = 32,
};
