/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* root.h - recognizes code that stacks made by hand begin with: what their first function returns
 * to.
 *
 * Nothing calls this code, and no unwind information describes it. Both engines and the BPF program
 * look here when a caller's frame has no rule. */

#pragma once

#include "lu/step.h"

#define LU_ROOT_BYTES 16

/* The bytes of a number, the first one in the low bits. */
#define LU_ROOT_8(a, b, c, d, e, f, g, h)                                                          \
  ((uint64_t) (a) | (uint64_t) (b) << 8 | (uint64_t) (c) << 16 | (uint64_t) (d) << 24              \
   | (uint64_t) (e) << 32 | (uint64_t) (f) << 40 | (uint64_t) (g) << 48 | (uint64_t) (h) << 56)
#define LU_ROOT_ALL (~(uint64_t) 0)

/* Returns whether two words of code are as expected where the masks have ones. */
static inline int
lu_root_matches (const uint64_t code[2], uint64_t first, uint64_t first_mask, uint64_t second,
                 uint64_t second_mask)
{
  return (((code[0] ^ first) & first_mask) | ((code[1] ^ second) & second_mask)) == 0;
}

/* Returns whether a stack begins at a return address. code: the bytes from there on. */
static inline int
lu_root_is (const uint64_t code[2])
{
  /* __start_context of glibc (makecontext(), sysdeps/unix/sysv/linux/x86_64/__start_context.S): mov
   * %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je; with or without endbr64. */
  return lu_root_matches (code, LU_ROOT_8 (0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48),
                          LU_ROOT_ALL, LU_ROOT_8 (0x85, 0xff, 0x74, 0, 0, 0, 0, 0), 0xffffff)
         || lu_root_matches (code, LU_ROOT_8 (0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48),
                             LU_ROOT_ALL, LU_ROOT_8 (0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0),
                             LU_ROOT_ALL >> 8)
         /* make_fcontext() of Boost, which PHP has as well (make_x86_64_sysv_elf_gas.S): xor
          * %rdi,%rdi; call _exit; hlt. */
         || lu_root_matches (code, LU_ROOT_8 (0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0), 0xffffffff,
                             LU_ROOT_8 (0xf4, 0, 0, 0, 0, 0, 0, 0), 0xff)
         /* __clone() of musl (src/thread/x86_64/clone.s): mov %eax,%edi; xor %eax,%eax; mov
          * $60,%al; syscall; hlt. */
         || lu_root_matches (code, LU_ROOT_8 (0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05),
                             LU_ROOT_ALL, LU_ROOT_8 (0xf4, 0, 0, 0, 0, 0, 0, 0), 0xff);
}

/* Returns whether a frame of a caller without a return address, whose registers are those of its
 * caller, is the outermost one: where stacks begin, the frame pointer is 0, too (System V ABI,
 * AMD64 supplement, 3.4.1). */
static inline int
lu_root_is_marked (const struct lu_regs *caller)
{
  return (caller->known & LU_KNOWN_FP) != 0 && (caller->fp | caller->pc) == 0;
}
