/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch.c - which architecture a sample is of; see arch.h. The only place that asks what we run on.
 */

#include "unwind/arch.h"

#include <elf.h>

#define CPUMODE_KERNEL 1 /* PERF_RECORD_MISC_KERNEL, linux/perf_event.h */
#define DWARF_RCX      2

static const LuArch *const by_abi[] = {
#if defined __x86_64__
  [LU_ABI_32] = &lu_arch_i386,
  [LU_ABI_64] = &lu_arch_x86_64,
#elif defined __aarch64__
  [LU_ABI_64] = &lu_arch_aarch64,
#elif defined __i386__
  [LU_ABI_32] = &lu_arch_i386,
#endif
  [LU_ABI_64 + 1] = NULL,
};

const LuArch *
lu_arch_of_abi (guint32 abi)
{
  return abi < G_N_ELEMENTS (by_abi) ? by_abi[abi] : NULL;
}

gboolean
lu_arch_read (const LuRegs *regs, guint perf_bit, guint64 *value)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << perf_bit;
  guint index = (guint) __builtin_popcountll (regs->mask & (bit - 1));

  if ((regs->mask & bit) == 0 || index >= regs->n_words)
    return FALSE;
  *value = regs->words[index];
  return TRUE;
}

gboolean
lu_arch_read_dwarf (const LuArch *self, const LuRegs *regs, int dwarf_number, guint64 *value)
{
  for (guint bit = 0; bit < self->n_registers; bit++)
    if (self->dwarf_numbers[bit] == dwarf_number)
      return lu_arch_read (regs, bit, value);
  return FALSE;
}

gboolean
lu_arch_may_be_system_call (const LuArch *self, const LuSample *sample, guint64 pc)
{
  guint64 cx;

  /* A system call leaves its return address in rcx (entry_SYSCALL_64() in
   * arch/x86/entry/entry_64.S). */
  return sample->cpumode == CPUMODE_KERNEL
         && (self->machine != EM_X86_64 || !lu_arch_read_dwarf (self, &sample->regs, DWARF_RCX, &cx)
             || cx == pc);
}
