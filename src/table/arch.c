/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch.c - the architectures that tables can be made for; see state.h.
 *
 * Numbers: System V ABI, AMD64 supplement, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1.
 */

#include "table/state.h"

#include <elf.h>

static const char *const x86_64_names[] = {
  "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

static const char *const aarch64_names[] = {
  "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
  "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
  "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
};

static const LuTableArch architectures[] = {
  {
      .name = "x86-64",
      .machine = EM_X86_64,
      .sp = 7,
      .fp = 6,
      .bx = 3,
      .ra = 16,
      .register_names = x86_64_names,
      .n_register_names = G_N_ELEMENTS (x86_64_names),
      .slots = { [7] = LU_SLOT_SP, [6] = LU_SLOT_FP, [3] = LU_SLOT_BX, [16] = LU_SLOT_RA },
  },
  {
      .name = "aarch64",
      .machine = EM_AARCH64,
      .sp = 31,
      .fp = 29,
      .bx = G_MAXUINT16,
      .ra = 30,
      .has_link_register = TRUE,
      .register_names = aarch64_names,
      .n_register_names = G_N_ELEMENTS (aarch64_names),
      .slots = { [31] = LU_SLOT_SP, [29] = LU_SLOT_FP, [30] = LU_SLOT_RA },
  },
};

const LuTableArch *
lu_table_arch_find (guint16 machine)
{
  for (guint i = 0; i < G_N_ELEMENTS (architectures); i++)
    if (architectures[i].machine == machine)
      return &architectures[i];
  return NULL;
}

const char *
lu_table_arch_register_name (const LuTableArch *self, guint number)
{
  return number < self->n_register_names ? self->register_names[number] : "register";
}
