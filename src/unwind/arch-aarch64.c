/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch-aarch64.c - aarch64; see arch.h.
 *
 * perf order: enum perf_event_arm_regs (asm/perf_regs.h): X0 to X29, LR, SP, PC. DWARF numbers are
 * the same for all but the pc, which has none that unwinding follows (DWARF for the Arm 64-bit
 * Architecture, 4.1). Addresses have 48 bits; above may be pointer authentication. */

#include "unwind/arch.h"

#include <elf.h>

const LuArch lu_arch_aarch64 = {
  .name = "aarch64",
  .machine = EM_AARCH64,
  .word_size = 8,
  .mask = 0x1ffffffff,
  .perf_sp = 31,
  .perf_pc = 32,
  .dwarf_sp = 31,
  .dwarf_fp = 29,
  .address_mask = (G_GUINT64_CONSTANT (1) << 48) - 1,
  .n_registers = 33,
  .dwarf_numbers = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1 },
};
