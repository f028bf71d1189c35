/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.h - does x86-64 code run straight to a return, or to where a frame is set up, and leave
 * stack pointer and frame pointer alone? Then the return address is on top of the stack, and the
 * frame pointer is the caller's.
 *
 * Used by guesses (src/unwind/guess.c, bpf/walk-guess.h) where the stack alone leaves a doubt; no
 * libc. One instruction after the other, where a branch is not taken: code is at each place with
 * one depth of the stack, so what holds on that way holds. Only the few instructions that small
 * functions consist of are known. (Intel SDM, volume 2, chapter 2 and the opcode map.) */

#pragma once

#include <stdint.h>

/* Of code that is looked at, so many instructions at most, and of one instruction. Those that are
 * known fit: prefix, opcode, ModRM, SIB and a displacement; another byte, of a shift, is not looked
 * at. */
#define LU_LEAF_BYTES  48
#define LU_LEAF_STEPS  10
#define LU_LEAF_WINDOW 8
/* As a size: there is no frame here; it is a return, or sets up one. */
#define LU_LEAF_BARE 16

/* push %rbp; mov %rsp,%rbp, in both encodings. */
#define LU_LEAF_PROLOGUE       0xe5894855
#define LU_LEAF_OTHER_PROLOGUE 0xec8b4855

/* Bits of a register's number in ModRM that rsp (4) and rbp (5) have, without the prefix's bit. */
#define LU_LEAF_REGISTER  6
#define LU_LEAF_STACK     4
#define LU_LEAF_REX_R     4
#define LU_LEAF_REX_B     1
#define LU_LEAF_REX_PLAIN 0x40

/* 1 if they are equal, else 0, of numbers below 2^63. No branch, here and below: what verifies the
 * BPF program would follow either way, and all that comes then, for each. */
static inline uint64_t
lu_leaf_is (uint64_t a, uint64_t b)
{
  uint64_t difference = a ^ b;

  __asm__("" : "+r"(difference));
  difference = (difference - 1) >> 63;
  __asm__("" : "+r"(difference));
  return difference;
}

/* Bytes of ModRM and what follows from it: SIB, and a displacement of 0, 1, 4 or 0 bytes. `at`:
 * begins with it. */
static inline uint64_t
lu_leaf_operand_size (uint64_t at)
{
  uint64_t mod = at >> 6 & 3;
  uint64_t has_sib = lu_leaf_is (at & 7, 4) & (lu_leaf_is (mod, 3) ^ 1);
  uint64_t base = at >> 8 * has_sib & 7;

  return 1 + has_sib + (0x0410 >> 4 * mod & 15) + 4 * (lu_leaf_is (mod, 0) & lu_leaf_is (base, 5));
}

/* Whether ModRM names rsp or rbp as a register. In the group of a shift its middle is no register.
 */
static inline uint64_t
lu_leaf_names_stack (uint64_t rex, uint64_t modrm, uint64_t is_group)
{
  uint64_t middle = lu_leaf_is (modrm >> 3 & LU_LEAF_REGISTER, LU_LEAF_STACK);
  uint64_t last = lu_leaf_is (modrm & LU_LEAF_REGISTER, LU_LEAF_STACK);

  return (middle & lu_leaf_is (rex & LU_LEAF_REX_R, 0) & (is_group ^ 1))
         | (last & lu_leaf_is (rex & LU_LEAF_REX_B, 0) & lu_leaf_is (modrm >> 6, 3));
}

/* add, or, adc, sbb, and, sub, xor, cmp; movslq; those with a byte more; test, mov to memory, from
 * memory, lea; a shift. */
static inline uint64_t
lu_leaf_is_known (uint64_t op)
{
  const uint64_t eights = 1 << 0x3 | 1 << 0x5 | 1 << 0x9 | 1 << 0xb | 1 << 0xd;

  return (lu_leaf_is (op >> 6, 0) & lu_leaf_is (op & 5, 1))
         | (lu_leaf_is (op >> 4, 8) & eights >> (op & 15)) | lu_leaf_is (op, 0x63)
         | lu_leaf_is (op, 0xc1);
}

/* Whether the frame is set up here. */
static inline uint64_t
lu_leaf_is_prologue (uint64_t code)
{
  uint64_t four = code & 0xffffffff;

  return lu_leaf_is (four, LU_LEAF_PROLOGUE) | lu_leaf_is (four, LU_LEAF_OTHER_PROLOGUE);
}

/* The size of the instruction that begins with the low byte of `code`; LU_LEAF_BARE; 0: it is none
 * of those that are known. */
static inline uint64_t
lu_leaf_step (uint64_t code)
{
  uint64_t op = code & 0xff, has_rex = lu_leaf_is (op >> 4, LU_LEAF_REX_PLAIN >> 4);
  uint64_t rex = op * has_rex, is_group, is_fine, modrm;

  if (lu_leaf_is_prologue (code))
    return LU_LEAF_BARE;
  /* A branch that is not taken; where it leads over a trap, over that. */
  if (op >> 4 == 7)
    return 2 + lu_leaf_is (code & 0xffff00, 0xcc0100);
  code >>= 8 * has_rex;
  op = code & 0xff;
  if (op == 0xc3)
    return LU_LEAF_BARE;
  modrm = code >> 8 & 0xff;
  is_group = lu_leaf_is (op, 0xc1) | lu_leaf_is (op, 0x83);
  is_fine = lu_leaf_is_known (op) & (lu_leaf_names_stack (rex, modrm, is_group) ^ 1);
  return (1 + has_rex + lu_leaf_operand_size (code >> 8) + is_group) * is_fine;
}
