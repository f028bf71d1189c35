/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-arch.h - what the programs in the kernel (bpf/) need to know of x86-64. The build finds the
 * header of this name in the directory of the architecture that it builds for. */

#pragma once

#include "arch/x86-64/code.h"

/* 1 if a call puts its return address into a register. */
#define ARCH_HAS_LINK 0
/* Bytes of the stack that a call takes. */
#define ARCH_RETURN_BYTES 8
/* 1 if the instruction pointer is behind a breakpoint while the kernel handles it. */
#define ARCH_PASSES_BREAKPOINT 1
/* The byte of a breakpoint. */
#define ARCH_BREAKPOINT 0xcc
/* Whether an instruction of one byte that functions begin with has pushed this word: a register
 * that they save, or any one to align the stack, for which compilers take rax or rcx. */
#define ARCH_HAS_PUSHED(regs, word)                                                                \
  ((word) == (regs)[REG_FP] || (word) == (regs)[REG_BX] || (word) == (regs)[REG_AX]                \
   || (word) == (regs)[REG_CX])
/* The number of words that the code of uretprobes pushes, and whether these are those. The
 * kernel restores these registers, and puts the stack pointer below the words again before it
 * changes the instruction pointer (sys_uretprobe(), arch/x86/kernel/uprobes.c, Linux 6.11). */
#define ARCH_PROBE_WORDS 3
#define ARCH_ARE_PROBE_WORDS(regs, words)                                                          \
  ((words)[0] != 0 && (words)[0] == (regs)[REG_PROBE_TOP] && (words)[1] != 0                       \
   && (words)[1] == (regs)[REG_CX] && (words)[2] == (regs)[REG_AX])
/* 1 if a CPU may read two words in another order than the program says. */
#define ARCH_REORDERS_READS 0

/* Words of struct pt_regs (asm/ptrace.h) */
enum
{
  REG_HOTSPOT_SENDER = 2, /* r13, as LuArch.hotspot_sender */
  REG_FP = 4,
  REG_BX = 5,
  REG_PROBE_TOP = 6, /* r11 */
  REG_AX = 10,
  REG_HOTSPOT_RETURN = REG_AX, /* as LuArch.hotspot_return */
  REG_CX = 11,
  REG_CALL = 15, /* orig_rax: the number of the system call */
  REG_PC = 16,
  REG_CS = 17,
  REG_SP = 19,
  N_REGS = 21
};

/* Selector of 64-bit code (__USER_CS, asm/segment.h). */
#define USER_CS 0x33
/* The bits of a selector that the kernel's do not have. */
#define USER_RPL 3

/* 1 if the registers in a program's context are the kernel's, else 0. */
#define ARCH_IS_KERNEL(ctx) negative_bit (((ctx)->regs.cs & USER_RPL) - 1)
/* The instruction pointer in a program's context. */
#define ARCH_IP(ctx) ((ctx)->regs.rip)
/* Whether registers in user mode are those of 64-bit code. */
#define ARCH_IS_64BIT(regs) ((regs)[REG_CS] == USER_CS)
/* Whether a task in kernel mode with these registers may be leaving its memory: exit, exit_group,
 * execve and execveat (asm/unistd_64.h). */
#define ARCH_MAY_LEAVE(regs)                                                                       \
  ((regs)[REG_CALL] == 59 || (regs)[REG_CALL] == 60 || (regs)[REG_CALL] == 231                     \
   || (regs)[REG_CALL] == 322)
/* The address in a word that was a return address. */
#define ARCH_ADDRESS(word) (word)

/* Where the kernel's struct ucontext has a register, in words, by its DWARF number. uc_mcontext
 * starts at 40 bytes (struct ucontext, asm-generic/ucontext.h) and holds r8-r15, rdi, rsi, rbp,
 * rbx, rdx, rax, rcx, rsp, rip (struct sigcontext_64, asm/sigcontext.h). */
#define ARCH_SAVED_WORDS                                                                           \
  {                                                                                                \
    18, 17, 19, 16, 14, 13, 15, 20, 5, 6, 7, 8, 9, 10, 11, 12, 21                                  \
  }

/* For lu/step.h. */
#define LU_STEP_LINK                     0
#define LU_STEP_SAVED_WORD(regs, number) arch_saved_word (lu_step_settle (number))

/* Returns an entry of that, or 0. The size of this table, and of the next one, keeps it out of
 * sections of small constants, which loaders of programs do not know. */
static inline uint64_t
arch_saved_word (uint64_t number)
{
  static const uint8_t words[] = ARCH_SAVED_WORDS;

  return number < sizeof words ? words[number] : 0;
}

/* Returns the place of a register in struct pt_regs, by its DWARF number (System V ABI, AMD64
 * supplement, figure 3.36); N_REGS: it is not there. */
static inline uint64_t
arch_place_of (uint64_t number)
{
  static const uint8_t places[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };

  return number < sizeof places ? places[number] : N_REGS;
}

/* Returns how many bytes above the stack pointer the return address is, while the page of the
 * kernel's probes goes back by pop %r11; pop %rcx; ret (since Linux 6.11,
 * arch/x86/kernel/uprobes.c). -1: this is other code. */
static inline int64_t
arch_probe_depth (uint64_t code)
{
  if ((code & 0xffffffff) == 0xc3595b41)
    return 16;
  if ((code & 0xffff) == 0xc359)
    return 8;
  return (code & 0xff) == 0xc3 ? 0 : -1;
}

/* Whether pthread_self() of a thread with this thread pointer is `id`. */
#define ARCH_IS_SELF(id, pointer) ((id) == (pointer))

#ifdef __bpf__
struct thread_struct
{
  unsigned long fsbase;
} __attribute__ ((preserve_access_index));

/* Copies the words of struct pt_regs that walks use, as the kernel's types allow: cs has 16 bits
 * (since Linux 6.9). */
static inline void
arch_copy_registers (uint64_t *to, const uint64_t *from)
{
#pragma unroll
  for (int i = 0; i <= REG_PC; i++)
    to[i] = ((const volatile uint64_t *) from)[i];
  to[REG_CS] = *(const volatile uint16_t *) &from[REG_CS];
  to[REG_SP] = *(const volatile uint64_t *) &from[REG_SP];
}

/* The thread pointer: the kernel keeps it up to date when the C library sets it, and when it
 * switches tasks. */
#define ARCH_THREAD_POINTER thread.fsbase
#endif
