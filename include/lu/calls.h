/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.h - decodes the x86 call instruction before a return address.
 *
 * The frame-pointer step of the table engine (src/arch/x86-64.c) and of the BPF program
 * (bpf/walk-frame-pointer.h) believes a return address only if a call ends there. x86 code cannot
 * be decoded backwards with certainty, so every call that could end there is tried; prefixes in
 * front of the opcode do not matter then. (Intel SDM, volume 2, CALL and tables 2-1 to 2-3.) */

#pragma once

#include "lu/leaf.h"

enum lu_call_kind
{
  LU_CALL_UNKNOWN,  /* the code has not been read */
  LU_CALL_NONE,     /* no call ends there, or the code is not readable */
  LU_CALL_DIRECT,   /* a call to a fixed address */
  LU_CALL_INDIRECT, /* a call through a register or memory */
};

#define LU_CALL_SHORTEST  2
#define LU_CALL_LONGEST   7 /* ff /2 with SIB and 32-bit displacement */
#define LU_CALL_NEAR_SIZE 5 /* e8 with 32-bit displacement */

/* Declares a function that the BPF verifier checks by itself. */
#ifndef LU_CALL_FUNCTION
#define LU_CALL_FUNCTION static inline
#endif

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
