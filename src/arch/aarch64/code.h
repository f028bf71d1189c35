/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code.h - decodes code of aarch64 for the frame-pointer step, in user space and in the kernel's
 * walk: calls before return addresses (lu/calls.h). All instructions have four bytes. */

#pragma once

#include "lu/calls.h"
#include "lu/leaf.h"
#include "lu/root.h"

/* Decodes the instruction in the high half of `code`, which ends at a return address: BL, BLR and
 * their forms with pointer authentication (Arm ARM, C6.2). Never returns UNKNOWN. Sets
 * `displacement` of a direct call, from the return address to the target. */
static inline enum lu_call_kind
lu_call_decode (uint64_t code, int64_t *displacement)
{
  uint64_t word = code >> 32;

  if (lu_leaf_is (word >> 26, 0x25) != 0) /* bl: 26 bits, in words, from the call itself */
    {
      *displacement = ((int64_t) (word << 38) >> 36) - 4;
      return LU_CALL_DIRECT;
    }
  /* blr Xn; blraaz, blrabz Xn; blraa, blrab Xn, Xm */
  return (lu_leaf_is (word & 0xfffffc1f, 0xd63f0000) | lu_leaf_is (word & 0xfffff81f, 0xd63f081f)
          | lu_leaf_is (word & 0xfffff800, 0xd73f0800))
                 != 0
             ? LU_CALL_INDIRECT
             : LU_CALL_NONE;
}

/* Returns whether a stack begins at a return address. code: the bytes from there on. No such code
 * is known. */
static inline int
lu_root_is (const uint64_t code[2])
{
  return 0;
}
