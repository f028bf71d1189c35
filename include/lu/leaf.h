/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.h - what code shows about the frame of a leaf: code that runs straight to a return, a
 * prologue or an epilogue and does not touch stack pointer and frame pointer before.
 *
 * The frame-pointer step (src/unwind/frame-pointer-step.c, bpf/walk-frame-pointer.h) reads the code
 * of leaves in files, because the stack alone leaves a doubt. It follows the instructions as if no
 * branch were taken: the depth of the stack is the same each time an instruction runs, so one path
 * is enough. Decoders belong to their architecture (src/arch). */

#pragma once

#include <stdint.h>

/* Limits of decoding: bytes of code, instructions, and bytes of one instruction. Prefixes,
 * opcode, ModRM and SIB fit into the last, which say how long the instruction is; what of the
 * displacement and immediate lies behind is not looked at. */
#define LU_LEAF_BYTES  48
#define LU_LEAF_STEPS  16
#define LU_LEAF_WINDOW 8
/* The answers of code. BARE and FRAMED also stand for the size of the instruction that decides. */
enum lu_leaf_kind
{
  LU_LEAF_UNDECIDED,
  LU_LEAF_BARE = 16, /* a return or a prologue: the return address is on top of the stack */
  LU_LEAF_FRAMED,    /* an epilogue that takes the stack pointer from the frame pointer: both are
                        the frame's own */
  LU_LEAF_PUSHED,    /* the second instruction of a prologue: the return address is below the top */
  LU_LEAF_POPPED,    /* the end of a function: the return address is below words that it pops */
  LU_LEAF_ROOT,      /* no leaf: stacks made by hand begin here (lu/root.h) */
  LU_LEAF_UNKNOWN,   /* the code has not been read */
};

/* Above the kind: 1 + the number of the register that the code pushes just before it returns or
 * pushes the frame pointer, and has not popped before: it may hold the return address. V8 moves
 * arguments below and off it, and sets up frames out of line, with that address in a register. With
 * POPPED, the number of words above the stack pointer that the return address is below, and 1 + the
 * number of the one that the frame pointer is taken from, or 0. */
#define LU_LEAF_REGISTER_SHIFT    8
#define LU_LEAF_DEPTH_SHIFT       16
#define LU_LEAF_FP_SHIFT          24
#define LU_LEAF_KIND(leaf)        ((enum lu_leaf_kind) ((leaf) &0xff))
#define LU_LEAF_REGISTER_OF(leaf) ((uint32_t) (leaf) >> LU_LEAF_REGISTER_SHIFT & 0xff)
#define LU_LEAF_DEPTH_OF(leaf)    ((uint32_t) (leaf) >> LU_LEAF_DEPTH_SHIFT & 0xff)
#define LU_LEAF_FP_OF(leaf)       ((uint32_t) (leaf) >> LU_LEAF_FP_SHIFT & 0xff)

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
