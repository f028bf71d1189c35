/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-arch.h - what the programs in the kernel (bpf/) need to know of aarch64. The build finds the
 * header of this name in the directory of the architecture that it builds for. */

#pragma once

#include "arch/aarch64/code.h"

/* 1 if a call puts its return address into a register. */
#define ARCH_HAS_LINK 1
/* Bytes of the stack that a call takes. */
#define ARCH_RETURN_BYTES 0
/* 1 if the instruction pointer is behind a breakpoint while the kernel handles it. */
#define ARCH_PASSES_BREAKPOINT      0
#define ARCH_BREAKPOINT             0
#define ARCH_HAS_PUSHED(regs, word) 0
/* The code of uretprobes pushes nothing. */
#define ARCH_PROBE_WORDS                  1
#define ARCH_ARE_PROBE_WORDS(regs, words) 0
/* 1 if a CPU may read two words in another order than the program says. */
#define ARCH_REORDERS_READS 1

/* Words of struct user_pt_regs, with which struct pt_regs begins (asm/ptrace.h) */
enum
{
  REG_CALL = 8, /* the number of the system call */
  REG_FP = 29,
  REG_LINK = 30,
  REG_SP = 31,
  REG_PC = 32,
  REG_PSTATE = 33,
  N_REGS = 34
};

/* Bits of the state: not 0 in the kernel (PSR_MODE_MASK), and 32-bit code (PSR_MODE32_BIT). */
#define STATE_LEVEL 0xf
#define STATE_32BIT 0x10

/* 1 if the registers in a program's context are the kernel's, else 0. */
#define ARCH_IS_KERNEL(ctx) negative_bit (-((ctx)->regs.pstate & STATE_LEVEL))
/* The instruction pointer in a program's context. */
#define ARCH_IP(ctx) ((ctx)->regs.pc)
/* Whether registers in user mode are those of 64-bit code. */
#define ARCH_IS_64BIT(regs) (((regs)[REG_PSTATE] & STATE_32BIT) == 0)
/* Whether a task in kernel mode with these registers may be leaving its memory: exit, exit_group,
 * execve and execveat (asm-generic/unistd.h). */
#define ARCH_MAY_LEAVE(regs)                                                                       \
  ((regs)[REG_CALL] == 93 || (regs)[REG_CALL] == 94 || (regs)[REG_CALL] == 221                     \
   || (regs)[REG_CALL] == 281)
/* The address in a word that was a return address, which may carry an authentication code. */
#define ARCH_ADDRESS(word) ((word) &host_config.address_mask)

/* Where the kernel's frame of a signal handler has a register, in words, by its DWARF number (32:
 * the pc). struct rt_sigframe (arch/arm64/kernel/signal.c) has a siginfo of 128 bytes and a struct
 * ucontext, in which uc_mcontext starts at 176 (asm/ucontext.h). That holds the fault address,
 * x0-x30, sp and pc (struct sigcontext, asm/sigcontext.h). */
#define ARCH_SAVED_WORD(number) ((128 + 176 + 8) / 8 + (number))

/* The register in which Go's code has the current g. */
#define ARCH_GO_REGISTER 28

/* For lu/step.h. */
#define LU_STEP_LINK                     1
#define LU_STEP_SAVED_WORD(regs, number) arch_saved_word (number)

/* Returns that, or 0 if it is not there. */
static inline uint64_t
arch_saved_word (uint64_t number)
{
  return number <= REG_PC ? ARCH_SAVED_WORD (number) : 0;
}

/* Returns the place of a register in struct pt_regs, by its DWARF number (DWARF for the Arm 64-bit
 * Architecture, 4.1; 32: the pc, as above); N_REGS: it is not there. */
static inline uint64_t
arch_place_of (uint64_t number)
{
  return number <= REG_PC ? number : N_REGS;
}

/* The page of the kernel's probes has no code of its own that goes back. */
static inline int64_t
arch_probe_depth (uint64_t code)
{
  (void) code;
  return -1;
}

/* Whether pthread_self() of a thread with this thread pointer is `id`. C libraries keep their
 * struct pthread directly below it (AAELF64, 7), so the distance is the size of that: some 200
 * bytes in musl, 1,700 to 2,300 in glibc. Nothing else of a thread is as close to it as this. */
#define ARCH_PTHREAD_BYTES        4096
#define ARCH_IS_SELF(id, pointer) ((pointer) - (id) -1 < ARCH_PTHREAD_BYTES)

#ifdef __bpf__
struct thread_struct
{
  struct
  {
    unsigned long tp_value;
  } uw;
} __attribute__ ((preserve_access_index));

/* Copies the words of struct pt_regs that walks use. */
static inline void
arch_copy_registers (uint64_t *to, const uint64_t *from)
{
#pragma unroll
  for (int i = 0; i < N_REGS; i++)
    to[i] = ((const volatile uint64_t *) from)[i];
}

/* The thread pointer; the kernel keeps it up to date when it switches tasks. */
#define ARCH_THREAD_POINTER thread.uw.tp_value
#endif
