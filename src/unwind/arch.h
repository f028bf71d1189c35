/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch.h - facts of an architecture, as data: what perf calls its registers and what DWARF calls
 * them.
 *
 * One constant per architecture, in a file of its own; the engines know no architecture by name.
 * Adding one is a new arch-NAME.c and a line in arch.c. */

#pragma once

#include "lu/sample.h"

#include <glib.h>

#define LU_ARCH_MAX_PERF_REGISTERS 33

typedef struct
{
  const char *name;
  guint16 machine;           /* EM_* */
  guint8 word_size;          /* of a stack slot, in bytes */
  guint64 mask;              /* the registers to ask perf for (attr.sample_regs_user) */
  guint8 perf_sp, perf_pc;   /* bits in the mask */
  guint8 dwarf_sp, dwarf_fp; /* fp: that the platform's frame chains use */
  guint64 address_mask;      /* bits an address can have */
  guint n_registers;         /* of the table */
  /* perf bit -> DWARF register; -1: not one that unwinding follows */
  gint8 dwarf_numbers[LU_ARCH_MAX_PERF_REGISTERS];
} LuArch;

extern const LuArch lu_arch_x86_64;
extern const LuArch lu_arch_i386;
extern const LuArch lu_arch_aarch64;

/* Of the tasks of that ABI (LU_ABI_*) on this machine; NULL if we cannot unwind them. */
const LuArch *lu_arch_of_abi (guint32 abi);

/* The register behind a bit of the perf mask; FALSE if the sample does not have it. */
gboolean lu_arch_read (const LuRegs *regs, guint perf_bit, guint64 *value);
/* The register with this DWARF number; FALSE if the sample does not have it. */
gboolean lu_arch_read_dwarf (const LuArch *self, const LuRegs *regs, int dwarf_number,
                             guint64 *value);
/* Whether a sample may be in a system call made at `pc`, where it returns to. What a page fault or
 * an interrupt stopped is not; where that cannot be told, only code of users is. */
gboolean lu_arch_may_be_system_call (const LuArch *self, const LuSample *sample, guint64 pc);
