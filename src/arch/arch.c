/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch.c - finds the architecture of a sample or a file; see arch.h. Only this file depends on the
 * machine that the program runs on. */

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define CPUMODE_KERNEL 1 /* PERF_RECORD_MISC_KERNEL, linux/perf_event.h */

static const LuArch *const all[] = { &lu_arch_x86_64, &lu_arch_i386, &lu_arch_aarch64 };

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

const LuArch *
lu_arch_of_regs (const LuRegs *regs)
{
  const LuArch *arch;

  if (regs->machine == 0)
    return lu_arch_of_abi (regs->abi);
  arch = lu_arch_of_machine (regs->machine);
  if (arch != NULL && regs->abi == LU_ABI_32)
    arch = arch->narrow;
  return regs->abi != LU_ABI_NONE ? arch : NULL;
}

const LuArch *
lu_arch_of_kernel_name (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i]->kernel_name != NULL && strcmp (all[i]->kernel_name, name) == 0)
      return all[i];
  return NULL;
}

const LuArch *
lu_arch_of_machine (guint16 machine)
{
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i]->machine == machine)
      return all[i];
  return NULL;
}

gboolean
lu_arch_has_mapping_symbols (guint16 machine)
{
  return machine == EM_AARCH64 || machine == EM_ARM;
}

const LuArch *
lu_arch_with_tables (guint16 machine)
{
  const LuArch *arch = lu_arch_of_machine (machine);

  return arch != NULL && arch->word_size == 8 ? arch : NULL;
}

char *
lu_arch_names_with_tables (void)
{
  const char *names[G_N_ELEMENTS (all) + 1] = { NULL };
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (lu_arch_with_tables (all[i]->machine) != NULL)
      names[n++] = all[i]->name;
  return g_strjoinv (", ", (char **) names);
}

guint64
lu_arch_address_mask (const LuArch *self)
{
  static gsize own;

  if (self->own_address_mask == NULL || self != lu_arch_of_abi (LU_ABI_64))
    return self->address_mask;
  if (g_once_init_enter (&own))
    g_once_init_leave (&own, self->own_address_mask () & self->address_mask);
  return own;
}

const char *
lu_arch_register_name (const LuArch *self, guint number)
{
  return number < self->n_register_names ? self->register_names[number] : "register";
}

gboolean
lu_arch_find_word (const LuRegs *regs, guint perf_bit, guint *index)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << perf_bit;

  *index = (guint) __builtin_popcountll (regs->mask & (bit - 1));
  return (regs->mask & bit) != 0 && *index < regs->n_words;
}

guint
lu_arch_perf_bit (const LuArch *self, int dwarf_number)
{
  guint bit = 0;

  while (bit < self->n_registers && self->dwarf_numbers[bit] != dwarf_number)
    bit++;
  return bit;
}

gboolean
lu_arch_read (const LuRegs *regs, guint perf_bit, guint64 *value)
{
  guint index;

  if (!lu_arch_find_word (regs, perf_bit, &index))
    return FALSE;
  *value = regs->words[index];
  return TRUE;
}

gboolean
lu_arch_read_dwarf (const LuArch *self, const LuRegs *regs, int dwarf_number, guint64 *value)
{
  guint bit = lu_arch_perf_bit (self, dwarf_number);

  return bit < self->n_registers && lu_arch_read (regs, bit, value);
}

gboolean
lu_arch_may_be_system_call (const LuArch *self, const LuSample *sample, guint64 pc)
{
  guint64 return_address;

  return sample->cpumode == CPUMODE_KERNEL
         && (self->syscall_return == LU_ARCH_NO_REGISTER
             || !lu_arch_read_dwarf (self, &sample->regs, self->syscall_return, &return_address)
             || return_address == pc);
}
