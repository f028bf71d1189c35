/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* x86-64.c - x86-64; see arch.h.
 *
 * Order of perf's registers: enum perf_event_x86_regs (asm/perf_regs.h). DWARF numbers: System V
 * ABI, AMD64 supplement, figure 3.36. The kernel refuses to sample DS, ES, FS and GS; flags and the
 * other segments do not matter for unwinding. */

#include "arch/x86-64/walk-arch.h"
#include "arch/x86-64/x86.h"
#include "lu/step.h"

#include <elf.h>
#include <string.h>

enum
{
  RAX = 0,
  RCX = 2,
  RBX = 3,
  RBP = 6,
  RSP = 7,
  R13 = 13,
  RIP = 16, /* the column of the return address */
};

static const char *const names[] = {
  "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

enum lu_call_kind
lu_x86_decode_call (const guint8 *bytes, gsize n, gint64 *displacement)
{
  gsize n_used = MIN (n, LU_CALL_LONGEST);
  guint8 code[8] = { 0 };
  guint64 word;

  if (n_used > 0) /* else `bytes` may be NULL */
    memcpy (code + sizeof code - n_used, bytes + n - n_used, n_used);
  memcpy (&word, code, sizeof word);
  *displacement = 0;
  return lu_call_decode (word, displacement);
}

/* call *displacement(%rip) */
static gboolean
decode_slot_call (const guint8 *bytes, gsize n, gint64 *displacement)
{
  gint32 distance;

  if (n < 6 || bytes[n - 6] != 0xff || bytes[n - 5] != 0x15)
    return FALSE;
  memcpy (&distance, bytes + n - 4, sizeof distance);
  *displacement = distance;
  return TRUE;
}

/* [endbr64;] [mov $number,%r11d;] [bnd] jmp *displacement(%rip), or in 32-bit code through an
 * address or %ebx. */
gboolean
lu_x86_is_plt_entry (const guint8 *code)
{
  if (memcmp (code, "\xf3\x0f\x1e", 3) == 0)
    code += 4;
  if (code[0] == 0x41 && code[1] == 0xbb)
    code += 6;
  if (code[0] == 0xf2)
    code++;
  return code[0] == 0xff && (code[1] == 0x25 || code[1] == 0xa3);
}

/* The entry jumps by "jmp *d(%rip)", which endbr64 and a bnd prefix may precede. Entries of
 * .plt.got without endbr64 have 8 bytes: the jump and a two-byte nop; all others have 16. */
static gsize
read_plt_entry (const guint8 *code, gsize size, guint64 address, guint64 *slot)
{
  static const guint8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
  gsize at = 0;
  gint32 displacement;

  *slot = 0;
  if (size >= sizeof endbr64 && memcmp (code, endbr64, sizeof endbr64) == 0)
    at = sizeof endbr64;
  if (at < size && code[at] == 0xf2)
    at++;
  if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
    return 16;
  memcpy (&displacement, code + at + 2, sizeof displacement);
  *slot = address + at + 6 + (guint64) (gint64) displacement;
  return at == 0 && size >= 8 && code[6] == 0x66 && code[7] == 0x90 ? 8 : 16;
}

/* 0f 80 to 0f 8f and 32 bits (Intel SDM, Jcc). Inside another instruction, such bytes lead
 * somewhere in 4 GiB. */
static gboolean
looks_like_jump (const guint8 *code, gint64 *displacement)
{
  gint32 distance;

  memcpy (&distance, code + 2, sizeof distance);
  *displacement = LU_ARCH_JUMP_BYTES + (gint64) distance;
  return code[0] == 0x0f && (code[1] & 0xf0) == 0x80;
}

/* "mov n(%rsp),%rbp; add $m,%rsp; ret", as Go's functions end until Go 1.20. Both numbers have one
 * byte or four. */
static gboolean
is_go_frame_end (const guint8 *code, gsize n)
{
  gsize add = n > 2 && code[2] == 0xac ? 8 : 5;
  gsize ret = n > add + 1 && code[add + 1] == 0x81 ? add + 7 : add + 4;

  return n > ret && code[0] == 0x48 && code[1] == 0x8b && (code[2] == 0x6c || code[2] == 0xac)
         && code[3] == 0x24 && code[add] == 0x48 && (code[add + 1] & ~2) == 0x81
         && code[add + 2] == 0xc4 && code[ret] == 0xc3;
}

/* "pop %rbp" or "leave", and one of "ret", "ret N" and "repz ret", which stands where a branch
 * leads to (Intel SDM); or the end of a function of Go. */
static gboolean
may_hold_frame_end (const guint8 *code, gsize n)
{
  for (gsize i = 0; i + 1 < n; i++)
    if (((code[i] == 0x5d || code[i] == 0xc9)
         && (code[i + 1] == 0xc3 || code[i + 1] == 0xc2 || code[i + 1] == 0xf3))
        || is_go_frame_end (code + i, n - i))
      return TRUE;
  return FALSE;
}

static guint32
leaf_of (const guint8 *code)
{
  guint64 words[2];
  guint32 leaf = lu_leaf_of (code), number = LU_LEAF_REGISTER_OF (leaf);

  memcpy (words, code, sizeof words);
  if (lu_root_is (words))
    return LU_LEAF_ROOT;
  if (number == 0)
    return leaf;
  return LU_LEAF_KIND (leaf) | (1 + lu_leaf_dwarf_number (number - 1)) << LU_LEAF_REGISTER_SHIFT;
}

static gboolean
is_trampoline_return (guint64 pc, guint64 start, guint64 size)
{
  return lu_trampoline_is_return (pc, start, size) != 0;
}

/* The kernel's frame as the restorer of the C library describes it: rsp at 160, rip at 168, rbp at
 * 120 and rbx at 128 above rsp (ARCH_SAVED_WORDS). */
static const struct lu_rule kernel_frame = { .cfa_kind = LU_CFA_DEREF_SP,
                                             .aux = 160,
                                             .ra_kind = LU_RA_AT_SP,
                                             .ra_off = 168 / 8,
                                             .saves = LU_SAVE_AT_SP | LU_SAVE_AT_SP << 4,
                                             .fp_off = 120 / 8,
                                             .bx_off = 128 / 8,
                                             .flags = LU_RULE_SIGNAL | LU_RULE_UCONTEXT };

static void
complete_signal_rule (struct lu_rule *rule)
{
  struct lu_rule completed = *rule;

  completed.flags |= LU_RULE_UCONTEXT;
  if (memcmp (&completed, &kernel_frame, sizeof completed) == 0)
    *rule = completed;
}

static const guint8 saved_words[LU_STEP_N_SAVED] = ARCH_SAVED_WORDS;

static guint
pt_regs_word (guint perf_bit)
{
  return (guint) arch_place_of ((guint) lu_arch_x86_64.dwarf_numbers[perf_bit]);
}

static gboolean
is_64bit_task (const guint64 *pt_regs)
{
  return ARCH_IS_64BIT (pt_regs);
}

const LuArch lu_arch_x86_64 = {
  .name = "x86-64",
  .kernel_name = "x86_64",
  .debian_name = "amd64",
  .narrow = &lu_arch_i386,
  .machine = EM_X86_64,
  .word_size = 8,
  .address_mask = G_MAXUINT64,
  .mask = 0xff01ff,
  .perf_sp = 7,
  .perf_pc = 8,
  .n_registers = 24,
  .dwarf_numbers = {
    0,   /* AX */
    RBX,
    RCX,
    1,   /* DX */
    4,   /* SI */
    5,   /* DI */
    RBP,
    RSP,
    RIP,
    -1, -1, -1, -1, -1, -1, -1, /* FLAGS, segments */
    8, 9, 10, 11, 12, 13, 14, 15, /* R8 ... R15 */
  },
  .pt_regs_word = pt_regs_word,
  .is_64bit_task = is_64bit_task,
  .sp = RSP,
  .fp = RBP,
  .bx = RBX,
  .ra = RIP,
  .syscall_return = RCX, /* entry_SYSCALL_64(), arch/x86/entry/entry_64.S */
  .register_names = names,
  .n_register_names = G_N_ELEMENTS (names),
  .slots = { [RAX] = LU_SLOT_LANDING, [RSP] = LU_SLOT_SP, [RBP] = LU_SLOT_FP, [RBX] = LU_SLOT_BX,
             [RIP] = LU_SLOT_RA },
  .decode_call = lu_x86_decode_call,
  .is_plt_entry = lu_x86_is_plt_entry,
  .leaf_of = leaf_of,
  .is_trampoline_return = is_trampoline_return,
  .trampoline_frame = LU_TRAMPOLINE_FRAME,
  .hotspot_sender = R13,
  .hotspot_return = RAX,
  .saved_words = saved_words,
  .cfi_finds_interrupted_stack = TRUE,
  .complete_signal_rule = complete_signal_rule,
  .kernel_frame = &kernel_frame,
  .files.rela_relative = R_X86_64_RELATIVE,
  .files.rela_slot = R_X86_64_JUMP_SLOT,
  .files.rela_data = R_X86_64_GLOB_DAT,
  .files.decode_slot_call = decode_slot_call,
  .files.read_plt_entry = read_plt_entry,
  .files.looks_like_jump = looks_like_jump,
  .files.may_hold_frame_end = may_hold_frame_end,
  .files.code_unit = 1,
  .files.leaf_bytes = LU_LEAF_BYTES,
  .files.decoded_bits = 64,
  .files.has_go_frames = TRUE,
  .files.has_interpreters = TRUE,
};
