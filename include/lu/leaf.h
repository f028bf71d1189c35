/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.h - decodes x86-64 code that runs straight to a return, a prologue or an epilogue and does
 * not touch stack pointer and frame pointer before. It shows where the return address is.
 *
 * The frame-pointer step (src/unwind/frame-pointer-step.c, bpf/walk-frame-pointer.h) reads the code
 * of leaves in files, because the stack alone leaves a doubt. It follows the instructions as if no
 * branch were taken: the depth of the stack is the same each time an instruction runs, so one path
 * is enough. Only the few instructions that small functions consist of are known. (Intel SDM,
 * volume 2, chapter 2 and the opcode map.) */

#pragma once

#include <stdint.h>

/* Limits of decoding: bytes of code, instructions, and bytes of one instruction. All known
 * instructions fit into the last: prefix, opcode, ModRM, SIB and a displacement; the immediate byte
 * of a shift does not matter. */
#define LU_LEAF_BYTES  48
#define LU_LEAF_STEPS  10
#define LU_LEAF_WINDOW 8
/* A register is pushed for a return if no more than this many bytes are between the push and the
 * return. */
#define LU_LEAF_NEAR 8
/* The answers of code. BARE and FRAMED also stand for the size of the instruction that decides. */
enum lu_leaf_kind
{
  LU_LEAF_UNDECIDED,
  LU_LEAF_BARE = 16, /* a return or a prologue: the return address is on top of the stack */
  LU_LEAF_FRAMED,    /* an epilogue that takes the stack pointer from the frame pointer: both are
                        the frame's own */
  LU_LEAF_PUSHED,    /* the second instruction of a prologue: the return address is below the top */
  LU_LEAF_ROOT,      /* no leaf: stacks made by hand begin here (lu/root.h) */
  LU_LEAF_UNKNOWN,   /* the code has not been read */
};

/* Above the kind: 1 + the number of the register that the code pushes just before it returns, which
 * it has not popped before: it may hold the return address. V8 takes arguments off the stack, and
 * sets up frames out of line, with the return address in a register. */
#define LU_LEAF_REGISTER_SHIFT    8
#define LU_LEAF_KIND(leaf)        ((enum lu_leaf_kind) ((leaf) &0xff))
#define LU_LEAF_REGISTER_OF(leaf) ((uint32_t) (leaf) >> LU_LEAF_REGISTER_SHIFT)

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

/* Returns 1 if two numbers below 2^63 are equal, otherwise 0. There are no branches here and below:
 * the BPF verifier would follow both ways, and all code after them twice. */
static inline uint64_t
lu_leaf_is (uint64_t a, uint64_t b)
{
  uint64_t difference = a ^ b;

  __asm__("" : "+r"(difference));
  difference = (difference - 1) >> 63;
  __asm__("" : "+r"(difference));
  return difference;
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

/* The search for a push just before a return goes byte by byte, because it need not know all
 * instructions: a wrong find asks for a register that holds a return address. Its state: popped
 * registers as bits; the number of the one pushed last; how many bytes its push is still near;
 * whether a return was found. */
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

/* Returns what LU_LEAF_BYTES of code show: a kind, never UNKNOWN, and perhaps a register. */
static inline uint32_t
lu_leaf_of (const uint8_t *code)
{
  uint64_t state = 0;

  for (uint32_t i = 0; i < LU_LEAF_BYTES; i++)
    state = lu_leaf_search (state, code[i], i > 0 ? code[i - 1] : 0);
  return lu_leaf_frame_of (code) | (uint32_t) lu_leaf_found (state) << LU_LEAF_REGISTER_SHIFT;
}
