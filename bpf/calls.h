/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.h - whether a call stands in front of a return address, from the 8 bytes there; as
 * src/unwind/calls.c says it for x86-64. */

#pragma once

#include "lu/leaf.h"

#include <stdint.h>

enum call_kind
{
  CALL_NONE,
  CALL_DIRECT, /* e8 and a displacement from the return address */
  CALL_INDIRECT,
  CALL_UNKNOWN, /* the code cannot be read here */
};

#define CALL_SHORTEST    2
#define CALL_LONGEST     7
#define NEAR_CALL_SIZE   5
#define CALL_BYTE(at, n) ((uint32_t) ((at) >> (8 * (n))) & 0xff)

/* What declares a function of its own for the verifier, where there is one. */
#ifndef CALLS_FUNCTION
#define CALLS_FUNCTION static inline
#endif

/* Size of the `ff /2` call that begins with the low byte of `at`; 0: none does. */
CALLS_FUNCTION uint64_t
indirect_call_size (uint64_t at)
{
  uint64_t is_call = lu_leaf_is (at & 0xff, 0xff) & lu_leaf_is (at >> 11 & 7, 2);

  return (1 + lu_leaf_operand_size (at >> 8)) * is_call;
}

/* `code`: the bytes, the one next to the return address on top. */
static inline enum call_kind
decode_call (uint64_t code, int64_t *displacement)
{
  uint64_t is_indirect = 0;

  for (uint64_t size = CALL_SHORTEST; size <= CALL_LONGEST; size++)
    is_indirect |= lu_leaf_is (indirect_call_size (code >> (64 - 8 * size)), size);
  if (is_indirect != 0)
    return CALL_INDIRECT;
  if (CALL_BYTE (code, 8 - NEAR_CALL_SIZE) != 0xe8)
    return CALL_NONE;
  *displacement = (int64_t) code >> 32;
  return CALL_DIRECT;
}
