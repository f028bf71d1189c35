/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arch.h - what differs between architectures, as constant data and functions without state.
 *
 * Each architecture is one constant in a file of its own; arch.c lists them. Code outside this room
 * tests what an architecture has, never which one it is. docs/HOWTO-add-an-architecture.md. */

#pragma once

#include "lu/calls.h"
#include "lu/leaf.h"
#include "lu/row.h"
#include "lu/sample.h"

#include <glib.h>

#define LU_ARCH_MAX_PERF_REGISTERS 33
/* The highest DWARF register number in use: x86-64 ends at 125, aarch64 at 127. */
#define LU_ARCH_MAX_REGISTER 128
/* The number of a register that the architecture does not have. */
#define LU_ARCH_NO_REGISTER    G_MAXUINT16
#define LU_ARCH_PLT_BYTES      13
#define LU_ARCH_JUMP_BYTES     6
#define LU_ARCH_MAX_LEAF_BYTES 256

/* The registers that unwinding tables follow. */
enum
{
  LU_SLOT_OTHER, /* 0, the slot of every register that is not followed */
  LU_SLOT_SP,
  LU_SLOT_FP,
  LU_SLOT_BX,
  LU_SLOT_RA,
  LU_SLOT_LANDING, /* what is passed to the landing pads of exceptions */
  LU_N_SLOTS
};

/* The code of a vDSO, and a function in it. */
typedef struct
{
  const guint8 *bytes; /* borrowed */
  guint64 vaddr, size;
} LuArchText;

typedef struct
{
  guint64 start, end; /* offsets in the text */
} LuArchRange;

/* Facts about ELF files. */
typedef struct
{
  guint32 rela_relative, rela_slot, rela_data; /* R_*_RELATIVE, R_*_JUMP_SLOT, R_*_GLOB_DAT */
  /* Optional: sets `slot` to the address of the word that the entry of a procedure linkage table at
   * the beginning of `size` bytes of code jumps through, or to 0 if there is no entry. Returns the
   * distance to where the next one may begin. */
  gsize (*read_plt_entry) (const guint8 *code, gsize size, guint64 address, guint64 *slot);
  /* Optional: returns whether `n` bytes, which end at a return address that an indirect call is
   * before, end with a call through a word at a fixed distance; sets `displacement` to the word's
   * from the return address. */
  gboolean (*decode_slot_call) (const guint8 *bytes, gsize n, gint64 *displacement);
  /* Optional: returns whether code looks like a conditional jump over more than a short distance,
   * and sets `displacement` to that, from the beginning of the LU_ARCH_JUMP_BYTES. Instructions
   * begin at multiples of `code_unit` bytes. */
  gboolean (*looks_like_jump) (const guint8 *code, gint64 *displacement);
  /* Optional: returns whether `n` bytes of code may hold the end of a function that has set up a
   * frame: the frame pointer is restored there, and the function returns. To look for that costs
   * much less than to follow the code. */
  gboolean (*may_hold_frame_end) (const guint8 *code, gsize n);
  guint8 code_unit;
  guint16 leaf_bytes; /* of code that LuArch.leaf_of looks at, at most LU_ARCH_MAX_LEAF_BYTES */
  /* Zydis decodes the instructions of code with addresses of so many bits; 0: it does not. */
  guint8 decoded_bits;
  /* Functions of Go keep their return address and frame pointer where elf/go-cfi.c says. */
  gboolean has_go_frames;
  /* Optional: finds the rule of a function of Go's runtime that moves to another stack
   * (elf/go-switch.h), and the part of its code where that holds. A return address is in the part
   * that ends there. FALSE: the code is not known. Without it, go-switch.c looks at the code. */
  gboolean (*find_go_switch) (const char *name, const LuArchText *code, LuArchRange *where,
                              struct lu_rule *rule);
  /* Optional: completes the rule of runtime.asyncPreempt (elf/go-stacks.h), whose caller a handler
   * has interrupted, if the handler pushes more than a return address. */
  void (*complete_go_preempt) (struct lu_rule *rule);
  /* The bytes that it pushes then; the lowest word is the link register. */
  guint8 go_preempt_bytes;
  /* Files with an interpreter are recognized (src/interp). */
  gboolean has_interpreters;
  /* Optional: returns the .debug_frame, owned by the caller, of a vDSO that has no CFI; NULL: the
   * code is not that of a vDSO. */
  GByteArray *(*describe_vdso) (const LuArchText *text, const LuArchRange *functions,
                                guint n_functions);
  /* Optional: returns entries of .debug_frame, owned by the caller, for a procedure linkage table
   * (.plt), which has no beginning in a static program; NULL: the code is not what linkers write.
   * They will stand `offset` bytes behind the beginning of the section; how many bytes they have
   * does not depend on that. */
  GByteArray *(*describe_plt) (const LuArchText *plt, gsize offset);
} LuArchFiles;

typedef struct _LuArch
{
  const char *name;
  const char *kernel_name; /* of a machine that runs it, as uname() says */
  const char *debian_name;
  const struct _LuArch *narrow; /* of its 32-bit tasks; NULL: they cannot be unwound */
  guint16 machine;              /* EM_* */
  guint8 word_size;             /* of a stack slot, in bytes */
  guint64 address_mask;         /* the bits that an address can have, at most */
  /* Optional: the bits of addresses in processes of this machine. */
  guint64 (*own_address_mask) (void);

  /* perf */
  guint64 mask;            /* the registers to request (attr.sample_regs_user) */
  guint8 perf_sp, perf_pc; /* bits in the mask */
  guint n_registers;       /* entries in use of: */
  gint8 dwarf_numbers[LU_ARCH_MAX_PERF_REGISTERS]; /* by perf bit; -1: not followed */

  /* The kernel's struct pt_regs: the word with the register of a perf bit, and whether one is of a
   * 64-bit task. Only for architectures that the program runs on. */
  guint (*pt_regs_word) (guint perf_bit);
  gboolean (*is_64bit_task) (const guint64 *pt_regs);

  /* DWARF numbers, or LU_ARCH_NO_REGISTER */
  guint16 sp, fp;                    /* fp: the platform's frame pointer */
  guint16 bx;                        /* the third register that CFI computes a CFA from */
  guint16 ra;                        /* the usual column of the return address */
  guint16 syscall_return;            /* where a system call leaves its return address */
  const char *const *register_names; /* by DWARF number */
  guint n_register_names;
  guint8 slots[LU_ARCH_MAX_REGISTER + 1]; /* LU_SLOT_* by DWARF number */

  /* Calls */
  gboolean has_link_register; /* a call puts its return address in `ra`, otherwise on the stack */
  gboolean signs_return_addresses; /* CFI may say that one carries an authentication code */
  /* Decodes the instruction at the end of `n` bytes, which end at a return address; more than
   * LU_CALL_LONGEST are not needed. Never returns UNKNOWN. Sets `displacement` to the distance of a
   * direct call's target from the return address, otherwise to 0. */
  enum lu_call_kind (*decode_call) (const guint8 *bytes, gsize n, gint64 *displacement);
  /* Optional: returns whether LU_ARCH_PLT_BYTES of code are an entry of a procedure linkage table,
   * which jumps to another file, or to what the same file exports. */
  gboolean (*is_plt_entry) (const guint8 *code);
  /* Optional: returns what files.leaf_bytes of code show about a leaf's frame (lu_leaf_of()). */
  guint32 (*leaf_of) (const guint8 *code);
  /* Optional: whether Python's trampolines (python -X perf) return to this place of a mapping. */
  gboolean (*is_trampoline_return) (guint64 pc, guint64 start, guint64 size);
  guint8 trampoline_frame; /* bytes between their stack pointer and their own return address */
  /* DWARF numbers of the registers in which HotSpot has the caller's stack pointer and return
   * address between interpreted and compiled code (lu/frame-pointer.h). Both 0: not known. */
  guint16 hotspot_sender, hotspot_return;

  /* Signals */
  /* Where the kernel keeps an interrupted function's registers (struct lu_regs), LU_STEP_N_SAVED
   * words; that of the pc at perf_pc, unless CFI finds it. Only for architectures with tables. */
  const guint8 *saved_words;
  /* The CFI of signal frames says where the interrupted stack is. */
  gboolean cfi_finds_interrupted_stack;
  /* Optional: completes the rule of a signal frame that the kernel has laid out. */
  void (*complete_signal_rule) (struct lu_rule *rule);
  /* Optional: the rule of such a frame, for a restorer without CFI. */
  const struct lu_rule *kernel_frame;
  LuArchFiles files;
} LuArch;

extern const LuArch lu_arch_x86_64;
extern const LuArch lu_arch_i386;
extern const LuArch lu_arch_aarch64;

/* Returns the architecture of tasks with this ABI (LU_ABI_*) on this machine; NULL if they cannot
 * be unwound. */
const LuArch *lu_arch_of_abi (guint32 abi);
/* Returns the architecture of the task that these registers are of; NULL if it cannot be unwound.
 */
const LuArch *lu_arch_of_regs (const LuRegs *regs);
/* Returns the architecture of 64-bit tasks on a machine with this name (uname()), or NULL. */
const LuArch *lu_arch_of_kernel_name (const char *name);
/* Returns the architecture of ELF files for this machine (EM_*), or NULL. */
const LuArch *lu_arch_of_machine (guint16 machine);
/* Returns whether local labels without a type tell code from data in files for this machine (EM_*).
 */
gboolean lu_arch_has_mapping_symbols (guint16 machine);
/* Returns the names of the architectures that lu_arch_with_tables() knows, for a message; owned by
 * the caller. */
char *lu_arch_names_with_tables (void);
/* Like lu_arch_of_machine(), but returns NULL if no unwinding tables are made for it: they exist
 * for 64-bit files only. */
const LuArch *lu_arch_with_tables (guint16 machine);

/* Returns the bits that an address can have. Tasks of this machine may have fewer than others: the
 * remaining bits may be an authentication code. */
guint64 lu_arch_address_mask (const LuArch *self);

/* Returns the name of a register by its DWARF number; never NULL. */
const char *lu_arch_register_name (const LuArch *self, guint number);

/* Finds which of a sample's words is the register behind a bit of the perf mask; FALSE if the
 * sample does not have it. */
gboolean lu_arch_find_word (const LuRegs *regs, guint perf_bit, guint *index);
/* Returns the bit of the perf mask for a register by its DWARF number; n_registers: it has none. */
guint lu_arch_perf_bit (const LuArch *self, int dwarf_number);
/* Reads the register behind a bit of the perf mask; FALSE if the sample does not have it. */
gboolean lu_arch_read (const LuRegs *regs, guint perf_bit, guint64 *value);
/* Reads the register with this DWARF number; FALSE if the sample does not have it. */
gboolean lu_arch_read_dwarf (const LuArch *self, const LuRegs *regs, int dwarf_number,
                             guint64 *value);
/* Returns whether the sample may be in a system call that returns to `pc`. A page fault or an
 * interrupt is not one; where the two look alike, every sample in the kernel may be. */
gboolean lu_arch_may_be_system_call (const LuArch *self, const LuSample *sample, guint64 pc);
