/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* aarch64.c - aarch64; see arch.h.
 *
 * Order of perf's registers: enum perf_event_arm_regs (asm/perf_regs.h): X0 to X29, LR, SP, PC.
 * DWARF numbers are the same, except for the pc (DWARF for the Arm 64-bit Architecture, 4.1).
 * Addresses have at most 48 bits; the bits above may hold an authentication code. */

#include "arch/aarch64/cfi.h"
#include "arch/aarch64/go.h"
#include "arch/aarch64/leaf.h"
#include "arch/aarch64/walk-arch.h"
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

enum
{
  X29 = 29,
  X30 = 30, /* the link register */
  SP = 31,
  PC = 32, /* as ARCH_SAVED_WORD() counts */
};

static const char *const names[] = {
  "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
  "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
  "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
};

static enum lu_call_kind
decode_call (const guint8 *bytes, gsize n, gint64 *displacement)
{
  guint32 word;

  *displacement = 0;
  if (n < sizeof word)
    return LU_CALL_NONE;
  memcpy (&word, bytes + n - sizeof word, sizeof word);
  return lu_call_decode ((guint64) word << 32, displacement);
}

/* The kernel's frame as the restorer of the vDSO describes it: x29 points to a record of the
 * interrupted x29 and pc. The record says neither where the interrupted stack is nor what the link
 * register held. The frame around it does, and starts at sp (ARCH_SAVED_WORD()). */
static void
complete_signal_rule (struct lu_rule *rule)
{
  if (rule->cfa_kind == LU_CFA_FP && rule->cfa_off == 0 && rule->ra_kind == LU_RA_AT_CFA
      && rule->ra_off == 1 && lu_rule_fp_kind (rule) == LU_SAVE_AT_CFA && rule->fp_off == 0)
    *rule = (struct lu_rule){
      .cfa_kind = LU_CFA_DEREF_SP,
      .aux = 8 * ARCH_SAVED_WORD (SP),
      .saves = LU_SAVE_AT_SP | LU_SAVE_UNKNOWN << 4,
      .fp_off = ARCH_SAVED_WORD (X29),
      .bx_off = ARCH_SAVED_WORD (X30),
      .ra_kind = LU_RA_AT_SP,
      .ra_off = ARCH_SAVED_WORD (PC),
      .flags = LU_RULE_SIGNAL | LU_RULE_SIGFRAME,
    };
}

/* Takes the code off an address all of whose bits are set: XPACLRI, which does nothing on a machine
 * without authentication codes. Bit 55 tells the addresses of the kernel. Machines whose addresses
 * are shorter than usual have longer codes. */
static guint64
own_address_mask (void)
{
#ifdef __aarch64__
  register guint64 link __asm__("x30") = (G_GUINT64_CONSTANT (1) << 55) - 1;

  __asm__ volatile("hint #7" : "+r"(link));
  return link;
#else
  return G_MAXUINT64;
#endif
}

#define WORDS_OF_4(number)                                                                         \
  ARCH_SAVED_WORD (number), ARCH_SAVED_WORD ((number) + 1), ARCH_SAVED_WORD ((number) + 2),        \
      ARCH_SAVED_WORD ((number) + 3)

static const guint8 saved_words[] = {
  WORDS_OF_4 (0),  WORDS_OF_4 (4),  WORDS_OF_4 (8),  WORDS_OF_4 (12),      WORDS_OF_4 (16),
  WORDS_OF_4 (20), WORDS_OF_4 (24), WORDS_OF_4 (28), ARCH_SAVED_WORD (PC),
};

/* b.cond, cbz, cbnz with 19 bits, and b with 26, which the former jump over if they do not reach as
 * far (Arm ARM, C4.1). */
static gboolean
looks_like_jump (const guint8 *code, gint64 *displacement)
{
  guint32 word;

  memcpy (&word, code, sizeof word);
  if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
    {
      *displacement = (gint64) ((guint64) (word >> 5 & 0x7ffff) << 45) >> 43;
      return TRUE;
    }
  *displacement = (gint64) ((guint64) (word & 0x3ffffff) << 38) >> 36;
  return (word & 0xfc000000) == 0x14000000;
}

static guint
pt_regs_word (guint perf_bit)
{
  return perf_bit;
}

static gboolean
is_64bit_task (const guint64 *pt_regs)
{
  return ARCH_IS_64BIT (pt_regs);
}

const LuArch lu_arch_aarch64 = {
  .name = "aarch64",
  .kernel_name = "aarch64",
  .debian_name = "arm64",
  .machine = EM_AARCH64,
  .word_size = 8,
  .address_mask = (G_GUINT64_CONSTANT (1) << 48) - 1,
  .own_address_mask = own_address_mask,
  .mask = 0x1ffffffff,
  .perf_sp = 31,
  .perf_pc = 32,
  .n_registers = 33,
  .dwarf_numbers = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1 },
  .pt_regs_word = pt_regs_word,
  .is_64bit_task = is_64bit_task,
  .sp = SP,
  .fp = X29,
  .bx = LU_ARCH_NO_REGISTER,
  .ra = X30,
  .syscall_return = LU_ARCH_NO_REGISTER,
  .register_names = names,
  .n_register_names = G_N_ELEMENTS (names),
  .slots = { [SP] = LU_SLOT_SP, [X29] = LU_SLOT_FP, [X30] = LU_SLOT_RA },
  .has_link_register = TRUE,
  .signs_return_addresses = TRUE,
  .decode_call = decode_call,
  .is_plt_entry = lu_aarch64_is_plt_entry,
  .leaf_of = lu_aarch64_leaf_of,
  .saved_words = saved_words,
  .complete_signal_rule = complete_signal_rule,
  .files.describe_vdso = lu_aarch64_describe_vdso,
  .files.describe_plt = lu_aarch64_describe_plt,
  .files.rela_relative = R_AARCH64_RELATIVE,
  .files.rela_slot = R_AARCH64_JUMP_SLOT,
  .files.rela_data = R_AARCH64_GLOB_DAT,
  .files.read_plt_entry = lu_aarch64_read_plt_entry,
  .files.looks_like_jump = looks_like_jump,
  .files.code_unit = 4,
  .files.leaf_bytes = LU_AARCH64_LEAF_BYTES,
  .files.has_go_frames = TRUE,
  .files.find_go_switch = lu_aarch64_find_go_switch,
  .files.complete_go_preempt = lu_aarch64_complete_go_preempt,
  .files.go_preempt_bytes = LU_AARCH64_GO_PUSHED,
  .files.has_interpreters = TRUE,
};
