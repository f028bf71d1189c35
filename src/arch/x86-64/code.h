/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code.h - decodes code of x86-64 for the frame-pointer step, in user space and in the kernel's
 * walk: leaves (lu/leaf.h), calls before return addresses (lu/calls.h), Python's trampolines.
 *
 * Only the few instructions that small functions consist of are known. Code cannot be decoded
 * backwards with certainty, so every call that could end at an address is tried; prefixes in front
 * of the opcode do not matter then. (Intel SDM, volume 2, chapter 2, tables 2-1 to 2-3, CALL, and
 * the opcode map.) */

#pragma once

#include "lu/calls.h"
#include "lu/leaf.h"
#include "lu/root.h"

/* push %rbp; mov %rsp,%rbp, in both encodings */
#define LU_LEAF_PROLOGUE       0xe5894855
#define LU_LEAF_OTHER_PROLOGUE 0xec8b4855
/* sub $8,%rsp; add $8,%rsp: all of _fini() before its return */
#define LU_LEAF_FINI 0x08c4834808ec8348

/* The bits of a register number in ModRM that rsp (4) and rbp (5) share, without the prefix's bit.
 */
#define LU_LEAF_REGISTER  6
#define LU_LEAF_STACK     4
#define LU_LEAF_REX_R     4
#define LU_LEAF_REX_B     1
#define LU_LEAF_REX_PLAIN 0x40

/* Returns the size of ModRM, SIB and displacement. `at` starts with ModRM. */
static inline uint64_t
lu_leaf_operand_size (uint64_t at)
{
  uint64_t mod = at >> 6 & 3;
  uint64_t has_sib = lu_leaf_is (at & 7, 4) & (lu_leaf_is (mod, 3) ^ 1);
  uint64_t base = at >> 8 * has_sib & 7;

  return 1 + has_sib + (0x0410 >> 4 * mod & 15) + 4 * (lu_leaf_is (mod, 0) & lu_leaf_is (base, 5));
}

/* Returns whether ModRM names rsp or rbp as a register. In a group (shift, immediate) the middle
 * bits are not a register. */
static inline uint64_t
lu_leaf_names_stack (uint64_t rex, uint64_t modrm, uint64_t is_group)
{
  uint64_t middle = lu_leaf_is (modrm >> 3 & LU_LEAF_REGISTER, LU_LEAF_STACK);
  uint64_t last = lu_leaf_is (modrm & LU_LEAF_REGISTER, LU_LEAF_STACK);

  return (middle & lu_leaf_is (rex & LU_LEAF_REX_R, 0) & (is_group ^ 1))
         | (last & lu_leaf_is (rex & LU_LEAF_REX_B, 0) & lu_leaf_is (modrm >> 6, 3));
}

/* add, or, adc, sbb, and, sub, xor, cmp, also with an immediate byte; test; mov to and from memory;
 * lea; movslq; shifts. inc and dec of a register are not among them. */
static inline uint64_t
lu_leaf_is_known (uint64_t op)
{
  const uint64_t eights = 1 << 0x3 | 1 << 0x5 | 1 << 0x9 | 1 << 0xb | 1 << 0xd;

  return (lu_leaf_is (op >> 6, 0) & lu_leaf_is (op & 5, 1))
         | (lu_leaf_is (op >> 4, 8) & eights >> (op & 15)) | lu_leaf_is (op, 0x63)
         | lu_leaf_is (op, 0xc1);
}

/* Returns whether this is mov %rsp,%rbp. */
static inline uint64_t
lu_leaf_is_pushed (uint64_t code)
{
  uint64_t three = code & 0xffffff;

  return lu_leaf_is (three, LU_LEAF_PROLOGUE >> 8)
         | lu_leaf_is (three, LU_LEAF_OTHER_PROLOGUE >> 8);
}

/* Returns whether this is leave or mov %rbp,%rsp. */
static inline uint64_t
lu_leaf_is_epilogue (uint64_t code)
{
  uint64_t three = code & 0xffffff;

  return lu_leaf_is (code & 0xff, 0xc9) | lu_leaf_is (three, 0xec8948)
         | lu_leaf_is (three, 0xe58b48);
}

/* Returns whether a prologue starts here. */
static inline uint64_t
lu_leaf_is_prologue (uint64_t code)
{
  uint64_t four = code & 0xffffffff;

  return lu_leaf_is (four, LU_LEAF_PROLOGUE) | lu_leaf_is (four, LU_LEAF_OTHER_PROLOGUE);
}

/* Returns the size of the instruction that starts with the low byte of `code`, or LU_LEAF_BARE or
 * LU_LEAF_FRAMED; 0 if it is not known. */
static inline uint64_t
lu_leaf_step (uint64_t code)
{
  uint64_t op = code & 0xff, has_rex = lu_leaf_is (op >> 4, LU_LEAF_REX_PLAIN >> 4);
  uint64_t rex = op * has_rex, has_byte, is_step, is_fine, modrm;

  if (lu_leaf_is_prologue (code))
    return LU_LEAF_BARE;
  if (lu_leaf_is_epilogue (code))
    return LU_LEAF_FRAMED;
  if (code == LU_LEAF_FINI)
    return sizeof code;
  /* A branch is not taken; one that leads over a trap is. */
  if (op >> 4 == 7)
    return 2 + lu_leaf_is (code & 0xffff00, 0xcc0100);
  code >>= 8 * has_rex;
  op = code & 0xff;
  if (op == 0xc3)
    return LU_LEAF_BARE;
  modrm = code >> 8 & 0xff;
  has_byte = lu_leaf_is (op, 0xc1) | lu_leaf_is (op, 0x83);
  is_step = lu_leaf_is (op, 0xff) & lu_leaf_is (modrm & 0xf0, 0xc0);
  is_fine = (lu_leaf_is_known (op) | is_step)
            & (lu_leaf_names_stack (rex, modrm, has_byte | is_step) ^ 1);
  return (1 + has_rex + lu_leaf_operand_size (code >> 8) + has_byte) * is_fine;
}

/* A register is pushed for a return if no more than this many bytes are between the push and the
 * return. */
#define LU_LEAF_NEAR 8

/* The search for a push just before a return, or before a push of the frame pointer, goes byte by
 * byte, because it need not know all instructions: a wrong find asks for a register that holds a
 * return address. Its state: popped registers as bits; the number of the one pushed last; for how
 * many bytes its push is still near; whether it is followed in this way. */
#define LU_LEAF_PUSHED_AT 16
#define LU_LEAF_NEAR_AT   20
#define LU_LEAF_FOUND_AT  24

static inline uint64_t
lu_leaf_search (uint64_t state, uint64_t byte, uint64_t last)
{
  uint64_t number = (byte & 7) | lu_leaf_is (last, 0x41) << 3;
  uint64_t pushed = state >> LU_LEAF_PUSHED_AT & 15, near = state >> LU_LEAF_NEAR_AT & 15;
  uint64_t found = state >> LU_LEAF_FOUND_AT & 1, popped = state & 0xffff, is_push;

  found |= lu_leaf_is (byte, 0xc3) & (lu_leaf_is (near, 0) ^ 1);
  found |= lu_leaf_is (byte, 0x55) & lu_leaf_is (near, LU_LEAF_NEAR + 1);
  is_push = lu_leaf_is (byte & 0xf8, 0x50) & (lu_leaf_is (number >> 1, 2) ^ 1) & ~(popped >> number)
            & (found ^ 1);
  popped |= lu_leaf_is (byte & 0xf8, 0x58) << number;
  pushed += (number - pushed) * is_push;
  near -= lu_leaf_is (near, 0) ^ 1;
  near += (LU_LEAF_NEAR + 1 - near) * is_push;
  return popped | pushed << LU_LEAF_PUSHED_AT | near << LU_LEAF_NEAR_AT | found << LU_LEAF_FOUND_AT;
}

/* Returns 1 + the number of the register, or 0, at the end of a search. */
static inline uint64_t
lu_leaf_found (uint64_t state)
{
  return ((state >> LU_LEAF_PUSHED_AT & 15) + 1) * (state >> LU_LEAF_FOUND_AT & 1);
}

/* Returns the number of the register in DWARF (System V ABI for x86-64, figure 3.36). */
static inline uint32_t
lu_leaf_dwarf_number (uint32_t number)
{
  return number < 8 ? 0x54673120u >> 4 * number & 15 : number;
}

/* Returns what LU_LEAF_BYTES of code show. */
static inline enum lu_leaf_kind
lu_leaf_frame_of (const uint8_t *code)
{
  uint64_t at = 0;

  if (lu_leaf_is_pushed (code[0] | (uint64_t) code[1] << 8 | (uint64_t) code[2] << 16))
    return LU_LEAF_PUSHED;

  for (uint32_t i = 0; i < LU_LEAF_STEPS && at <= LU_LEAF_BYTES - LU_LEAF_WINDOW; i++)
    {
      uint64_t window = 0, size;

      for (uint32_t k = 0; k < LU_LEAF_WINDOW; k++)
        window |= (uint64_t) code[at + k] << 8 * k;
      size = lu_leaf_step (window);
      if (size == 0 || size >= LU_LEAF_BARE)
        return (enum lu_leaf_kind) size;
      at += size;
    }
  return LU_LEAF_UNDECIDED;
}

#define LU_CALL_SHORTEST  2
#define LU_CALL_NEAR_SIZE 5 /* e8 with 32-bit displacement */

/* Returns the size of the `ff /2` call that starts with the low byte of `at`; 0 if there is none.
 */
LU_CALL_FUNCTION uint64_t
lu_call_indirect_size (uint64_t at)
{
  uint64_t is_call = lu_leaf_is (at & 0xff, 0xff) & lu_leaf_is (at >> 11 & 7, 2);

  return (1 + lu_leaf_operand_size (at >> 8)) * is_call;
}

/* Decodes the 8 bytes before a return address, the last one in the high byte of `code`; bytes
 * that are not there are 0. Never returns UNKNOWN. Bytes that could be either kind of call are an
 * indirect one. Sets `displacement` of a direct call, from the return address to the target: the
 * caller checks that there is code at the target, which is unlikely for a byte that is a call only
 * by chance. */
static inline enum lu_call_kind
lu_call_decode (uint64_t code, int64_t *displacement)
{
  uint64_t is_indirect = 0;

  for (uint64_t size = LU_CALL_SHORTEST; size <= LU_CALL_LONGEST; size++)
    is_indirect |= lu_leaf_is (lu_call_indirect_size (code >> (64 - 8 * size)), size);
  if (is_indirect != 0)
    return LU_CALL_INDIRECT;
  if ((code >> (64 - 8 * LU_CALL_NEAR_SIZE) & 0xff) != 0xe8)
    return LU_CALL_NONE;
  *displacement = (int64_t) code >> 32;
  return LU_CALL_DIRECT;
}

/* Python's trampolines on x86-64 (python -X perf), one for each Python function: [endbr64;] sub $8,
 * %rsp; call *%rcx; add $8, %rsp; ret. They lie next to each other in slots of 16 bytes, so their
 * call returns to offset 10 in a slot, or to offset 6 without endbr64. Before the slots they lay
 * without a gap, 11 bytes apart (Python 3.12.1). Their memory comes in pieces of 64 KiB, which the
 * kernel may put into one mapping (Python/perf_trampoline.c). */
#define LU_TRAMPOLINE_ARENA 0x10000u
#define LU_TRAMPOLINE_FRAME 8u /* bytes below the trampoline's own return address */

/* `start` and `size`: of the mapping. */
static inline int
lu_trampoline_is_return (uint64_t pc, uint64_t start, uint64_t size)
{
  return (pc & 15) == 10 || (pc & 15) == 6
         || (size % LU_TRAMPOLINE_ARENA == 0 && (pc - start) % LU_TRAMPOLINE_ARENA % 11 == 6);
}

/* Returns what LU_LEAF_BYTES of code show: a kind, never UNKNOWN, and perhaps a register. */
static inline uint32_t
lu_leaf_of (const uint8_t *code)
{
  uint64_t state = 0;

  for (uint32_t i = 0; i < LU_LEAF_BYTES; i++)
    state = lu_leaf_search (state, code[i], i > 0 ? code[i - 1] : 0);
  return lu_leaf_frame_of (code) | (uint32_t) lu_leaf_found (state) << LU_LEAF_REGISTER_SHIFT;
}

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
