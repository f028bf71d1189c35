/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* instruction.h - the sizes of x86-64 instructions that leave stack and frame pointer alone, for
 * code.h, in user space and in the kernel's walk. The opcode maps are sets of 256 bits.
 *
 * (Intel SDM, volume 2, chapter 2 and appendix A, tables .) */

#pragma once

#include "lu/leaf.h"

/* The bits of a register number in ModRM that rsp (4) and rbp (5) share, without the prefix's bit.
 */
#define LU_LEAF_REGISTER  6
#define LU_LEAF_STACK     4
#define LU_LEAF_REX_R     4
#define LU_LEAF_REX_B     1
#define LU_LEAF_REX_PLAIN 0x40

/* The parts of an instruction. */
struct lu_instruction
{
  uint64_t prefixes; /* bytes */
  uint64_t narrow;   /* 1: the prefix for 16 bits */
  uint64_t rex;      /* or 0 */
  uint64_t map;      /* of the opcode: 0 one byte; 1, 2, 3 after 0f, 0f 38, 0f 3a; others none */
  uint64_t op;
  uint64_t rest;        /* what follows the opcode, and zeros */
  uint64_t head;        /* bytes up to there */
  uint64_t has_operand; /* 1: ModRM follows; set with the size */
};

/* Returns the bit of an opcode in a set. No masks: verifiers would follow both of their values. */
static inline uint64_t
lu_code_has (uint64_t op, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
  uint64_t high = op >> 6;
  uint64_t word = a * lu_leaf_is (high, 0) + b * lu_leaf_is (high, 1) + c * lu_leaf_is (high, 2)
                  + d * lu_leaf_is (high, 3);

  return word >> (op & 63) & 1;
}

/* Returns the size of ModRM, SIB and displacement. `at` starts with ModRM. */
static inline uint64_t
lu_leaf_operand_size (uint64_t at)
{
  uint64_t mod = at >> 6 & 3;
  uint64_t has_sib = lu_leaf_is (at & 7, 4) & (lu_leaf_is (mod, 3) ^ 1);
  uint64_t base = at >> 8 * has_sib & 7;

  return 1 + has_sib + (0x0410 >> 4 * mod & 15) + 4 * (lu_leaf_is (mod, 0) & lu_leaf_is (base, 5));
}

/* Takes one prefix off, if there is one: 16 bits, fs, gs, lock, repne, repe. */
static inline uint64_t
lu_code_take_prefix (uint64_t code, struct lu_instruction *found)
{
  uint64_t op = code & 0xff, is_narrow = lu_leaf_is (op, 0x66);
  uint64_t is_prefix = is_narrow | lu_leaf_is (op & 0xfe, 0x64) | lu_leaf_is (op & 0xfe, 0xf2)
                       | lu_leaf_is (op, 0xf0);

  found->prefixes += is_prefix;
  found->narrow |= is_narrow;
  return code >> 8 * is_prefix;
}

/* Takes an instruction of AVX apart, whose prefix holds the map and the bits of REX, inverted. */
static inline void
lu_code_parse_vex (uint64_t code, struct lu_instruction *found)
{
  uint64_t is_long = lu_leaf_is (code & 0xff, 0xc4), bits = code >> 8 & 0xff, map = bits & 31;

  found->rex = LU_LEAF_REX_PLAIN | ((~bits >> 7 & 1) * LU_LEAF_REX_R) | (~bits >> 5 & is_long);
  found->map = is_long ? map + 4 * lu_leaf_is (map, 0) : 1;
  code >>= 16 + 8 * is_long;
  found->op = code & 0xff;
  found->rest = code >> 8;
  found->head = 3 + is_long;
}

/* Takes the instruction apart that starts with the low byte of `code`. Compilers for BPF do not
 * accept functions that return a struct. */
static inline void
lu_code_parse (uint64_t code, struct lu_instruction *found)
{
  uint64_t has_rex, is_two, is_three, third;

  *found = (struct lu_instruction){ 0 };
  if (lu_leaf_is (code >> 1 & 0x7f, 0xc4 >> 1))
    {
      lu_code_parse_vex (code, found);
      return;
    }
  code = lu_code_take_prefix (code, found);
  code = lu_code_take_prefix (code, found);
  has_rex = lu_leaf_is (code >> 4 & 15, LU_LEAF_REX_PLAIN >> 4);
  found->rex = (code & 0xff) * has_rex;
  code >>= 8 * has_rex;
  is_two = lu_leaf_is (code & 0xff, 0x0f);
  code >>= 8 * is_two;
  third = code & 0xff;
  is_three = is_two & (lu_leaf_is (third, 0x38) | lu_leaf_is (third, 0x3a));
  code >>= 8 * is_three;
  found->map = is_two + is_three + (is_three & lu_leaf_is (third, 0x3a));
  found->op = code & 0xff;
  found->rest = code >> 8;
  found->head = found->prefixes + has_rex + is_two + is_three + 1;
}

/* Returns whether ModRM names rsp or rbp as a register that may be written. In a group (shift,
 * immediate) the middle bits are not a register. */
static inline uint64_t
lu_leaf_names_stack (uint64_t rex, uint64_t modrm, uint64_t is_group)
{
  uint64_t middle = lu_leaf_is (modrm >> 3 & LU_LEAF_REGISTER, LU_LEAF_STACK);
  uint64_t last = lu_leaf_is (modrm & LU_LEAF_REGISTER, LU_LEAF_STACK);

  return (middle & lu_leaf_is (rex & LU_LEAF_REX_R, 0) & (is_group ^ 1))
         | (last & lu_leaf_is (rex & LU_LEAF_REX_B, 0) & lu_leaf_is (modrm >> 6 & 3, 3));
}

/* The next three return the size of an instruction of one map, or 0. */

/* Arithmetic, moves, shifts, tests, lea, movslq, inc and dec, cltq, cqto. Zeros are no code. */
static inline uint64_t
lu_code_size_of_one (struct lu_instruction *at)
{
  uint64_t op = at->op, modrm = at->rest & 0xff, number = modrm >> 3 & 7, wide = at->rex >> 3 & 1;
  uint64_t has_modrm =
      lu_code_has (op, 0x0f0f0f0f0f0f0f0e, 0x0a0800000000, 0x2ffb, 0xc0c00000000f00c3);
  uint64_t byte = lu_code_has (op, 0x1010101010101010, 0x080000000000, 0xff010000000009, 0x43);
  uint64_t word = lu_code_has (op, 0x2020202020202020, 0x020000000000, 0xff00020000000002, 0x80);
  uint64_t is_alone = lu_code_has (op, 0, 0, 0x3010000, 0);
  uint64_t is_group = lu_code_has (op, 0, 0, 0xb, 0xc0c00000000f00c3);
  uint64_t is_test = lu_leaf_is (op >> 1, 0xf6 >> 1) & lu_leaf_is (number >> 1, 0);
  uint64_t is_constant = lu_leaf_is (op >> 4, 0xb);
  uint64_t names = (has_modrm & lu_leaf_names_stack (at->rex, modrm, is_group))
                   | (is_constant & lu_leaf_is (op & LU_LEAF_REGISTER, LU_LEAF_STACK)
                      & lu_leaf_is (at->rex & LU_LEAF_REX_B, 0));
  /* mov has only /0, inc and dec /0 and /1. */
  uint64_t is_other = (lu_leaf_is (op >> 1, 0xc6 >> 1) & (lu_leaf_is (number, 0) ^ 1))
                      | (lu_leaf_is (op >> 1, 0xfe >> 1) & (lu_leaf_is (number >> 1, 0) ^ 1));
  uint64_t is_fine = (has_modrm | byte | word | is_alone) & ((names | is_other) ^ 1);

  at->has_operand = has_modrm;
  byte |= is_test & (op ^ 1);
  word |= is_test & op;
  word *= 4 - 2 * (at->narrow & (wide ^ 1)) + 4 * (is_constant & wide);
  return (at->head + has_modrm * lu_leaf_operand_size (at->rest) + byte + word) * is_fine;
}

/* cmov, setcc, movzbl and the like, bit tests, xadd, cmpxchg, bswap, prefetches, nops; vectors,
 * which have registers of their own. */
static inline uint64_t
lu_code_size_of_two (struct lu_instruction *at)
{
  uint64_t op = at->op;
  uint64_t is_scalar =
      lu_code_has (op, 0x3400ff000000, 0x400040000001ffff, 0xfdcbb838ffff0000, 0x80002b);
  uint64_t is_vector = lu_code_has (op, 0xcb0000ff0000, 0xb07fbffffffe0000, 0, 0x7fffffffff7f0054);
  uint64_t byte = lu_code_has (op, 0, 0x0f000000000000, 0x0400101000000000, 0x74);
  uint64_t is_alone = lu_code_has (op, 0x02000000000000, 0x80000000000000, 0x0400000000, 0xff00);
  uint64_t is_group = lu_code_has (op, 0xff000000, 0, 0x04000000ffff0000, 0);
  uint64_t is_swap = lu_leaf_is (op >> 3, 0xc8 >> 3)
                     & lu_leaf_is (op & LU_LEAF_REGISTER, LU_LEAF_STACK)
                     & lu_leaf_is (at->rex & LU_LEAF_REX_B, 0);
  uint64_t names = (is_scalar & lu_leaf_names_stack (at->rex, at->rest & 0xff, is_group)) | is_swap;
  uint64_t has_modrm = is_scalar | is_vector;

  at->has_operand = has_modrm;
  return (at->head + has_modrm * lu_leaf_operand_size (at->rest) + byte)
         * ((has_modrm | is_alone) & (names ^ 1));
}

/* Vectors, most of them. */
static inline uint64_t
lu_code_size_of_three (struct lu_instruction *at)
{
  uint64_t has_byte = lu_leaf_is (at->map, 3);
  uint64_t is_scalar = lu_leaf_is (at->op >> 4, 0xf) | (has_byte & lu_leaf_is (at->op >> 2, 5));

  at->has_operand = 1;
  return (at->head + lu_leaf_operand_size (at->rest) + has_byte) * (is_scalar ^ 1);
}

/* Returns the size of an instruction that leaves stack pointer and frame pointer alone and goes on
 * behind itself; 0 if it is another one or not known. */
static inline uint64_t
lu_code_size (struct lu_instruction *at)
{
  if (at->map == 0)
    return lu_code_size_of_one (at);
  if (at->map == 1)
    return lu_code_size_of_two (at);
  return at->map <= 3 ? lu_code_size_of_three (at) : 0;
}

/* Returns whether the operand is memory below the frame pointer. */
static inline uint64_t
lu_leaf_is_below_fp (const struct lu_instruction *at)
{
  uint64_t rest = at->rest;
  uint64_t mod = rest >> 6 & 3, has_sib = lu_leaf_is (rest & 7, 4);
  uint64_t base = rest >> 8 * has_sib & 7, displacement = rest >> 8 >> 8 * has_sib;
  uint64_t is_negative =
      (displacement >> 7 & lu_leaf_is (mod, 1)) | (displacement >> 31 & lu_leaf_is (mod, 2));

  return is_negative & at->has_operand & lu_leaf_is (base, 5)
         & lu_leaf_is (at->rex & LU_LEAF_REX_B, 0);
}
