/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.h - does x86-64 code run straight to a return, and leave stack pointer and frame pointer
 * alone? Then the return address is on top of the stack, and the frame pointer is the caller's.
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
/* As a size: it is a return. */
#define LU_LEAF_RETURN 16

/* Bits of a register's number in ModRM that rsp (4) and rbp (5) have, without the prefix's bit. */
#define LU_LEAF_REGISTER  6
#define LU_LEAF_STACK     4
#define LU_LEAF_REX_R     4
#define LU_LEAF_REX_B     1
#define LU_LEAF_REX_PLAIN 0x40

/* Bytes of ModRM and what follows from it: SIB, and a displacement of 0, 1, 4 or 0 bytes. `at`:
 * begins with it. */
static inline uint64_t
lu_leaf_operand_size (uint64_t at)
{
  uint64_t mod = at >> 6 & 3, base = at & 7, size = 1 + (0x0410 >> 4 * mod & 15);

  if (mod != 3 && base == 4)
    {
      base = at >> 8 & 7;
      size++;
    }
  return mod == 0 && base == 5 ? size + 4 : size;
}

/* Whether ModRM names rsp or rbp as a register. In the group of a shift its middle is no register.
 */
static inline int
lu_leaf_names_stack (uint64_t rex, uint64_t modrm, int is_group)
{
  if (!is_group && (rex & LU_LEAF_REX_R) == 0 && (modrm >> 3 & LU_LEAF_REGISTER) == LU_LEAF_STACK)
    return 1;
  return modrm >> 6 == 3 && (rex & LU_LEAF_REX_B) == 0
         && (modrm & LU_LEAF_REGISTER) == LU_LEAF_STACK;
}

/* add, or, adc, sbb, and, sub, xor, cmp; movslq; those with a byte more; test, mov to memory, from
 * memory, lea; a shift. */
static inline int
lu_leaf_is_known (uint64_t op)
{
  if (op < 0x40)
    return (op & 5) == 1;
  if (op >> 4 == 8)
    return (1 << 0x3 | 1 << 0x5 | 1 << 0x9 | 1 << 0xb | 1 << 0xd) >> (op & 15) & 1;
  return op == 0x63 || op == 0xc1;
}

/* The size of the instruction that begins with the low byte of `code`; LU_LEAF_RETURN; 0: it is
 * none of those that are known. */
static inline uint64_t
lu_leaf_step (uint64_t code)
{
  uint64_t rex = 0, size = 1, op = code & 0xff;
  int is_group;

  /* A branch that is not taken; where it leads over a trap, over that. */
  if ((code & 0xffff70) == 0xcc0170 && (op & 0xf0) == 0x70)
    return 3;
  if ((op & 0xf0) == 0x70)
    return 2;
  if ((op & 0xf0) == LU_LEAF_REX_PLAIN)
    {
      rex = op;
      code >>= 8;
      size = 2;
      op = code & 0xff;
    }
  if (op == 0xc3)
    return LU_LEAF_RETURN;
  is_group = op == 0xc1 || op == 0x83;
  if (!lu_leaf_is_known (op) || lu_leaf_names_stack (rex, code >> 8 & 0xff, is_group))
    return 0;
  return size + lu_leaf_operand_size (code >> 8) + (is_group ? 1 : 0);
}
