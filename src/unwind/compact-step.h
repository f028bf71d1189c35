/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compact-step.h - the step of a compact rule (lu/compact-rule.h) on a copy of a stack in memory.
 *
 * The walker tries it before lu_step(). It has the same result wherever it succeeds
 * (tests/unit/unwind/test-compact-step.c). */

#pragma once

#include "lu/compact-rule.h"

#include <string.h>

/* The memo's rule for a frame-pointer step (frame-pointer-step.h) that depends only on the frame
 * pointer, its address and the two words there. */
#define LU_COMPACT_FP_STEP                                                                         \
  (LU_COMPACT_BY_FP | LU_COMPACT_FP_SLOT | LU_COMPACT_BX_LOST | LU_COMPACT_FP_STEPPED              \
   | 254u << LU_COMPACT_FP_SHIFT | 255u << LU_COMPACT_BX_SHIFT | 2u << LU_COMPACT_ROOM_SHIFT       \
   | (uint64_t) 16 << LU_COMPACT_CFA_SHIFT)

/* A copy of a stack. */
struct lu_copy
{
  const uint8_t *bytes;
  uint64_t start; /* run-time address of the first byte */
  uint64_t size;  /* bytes */
};

/* Registers between compact steps, which require that FP is known. */
struct lu_compact_regs
{
  uint64_t pc;
  uint64_t offset; /* of the stack pointer in the copy, at most its size */
  uint64_t fp, bx;
  uint64_t known; /* LU_KNOWN_BX if BX is known; the other bits have no meaning */
};

static inline uint64_t
lu_copy_word (const struct lu_copy *copy, uint64_t offset)
{
  uint64_t value;

  memcpy (&value, copy->bytes + offset, sizeof value);
  return value;
}

/* Returns the word in a slot of the frame whose CFA is at offset `end`. */
static inline uint64_t
lu_compact_word (const struct lu_copy *copy, uint64_t end, uint8_t slot)
{
  uint64_t value;

  memcpy (&value, copy->bytes + end + 8 * (uint64_t) slot - LU_COMPACT_REACH, sizeof value);
  return value;
}

/* Moves `regs` to the caller and returns 1. Returns 0 and leaves `regs` unchanged if lu_step() has
 * to decide, which includes a return address of 0. */
static inline __attribute__ ((always_inline)) int
lu_compact_step (struct lu_compact_regs *regs, lu_compact_rule rule, const struct lu_copy *copy)
{
  uint64_t end = regs->offset + LU_COMPACT_CFA (rule); /* offset of the CFA */
  uint64_t pc, fp, bx;

  /* The CFA must be in the copy and above the stack pointer, which is at most at the copy's end. A
   * rule by stack pointer guarantees the latter. */
  if ((rule & LU_COMPACT_BY_FP) != 0)
    {
      end = regs->fp - copy->start + LU_COMPACT_CFA (rule);
      if (__builtin_expect (regs->offset + LU_COMPACT_ROOM (rule) > end, 0))
        return 0;
    }
  if (__builtin_expect (end > copy->size, 0))
    return 0;
  pc = lu_copy_word (copy, end - 8);
  /* A register without a slot reads the return address, which is not used. */
  fp = lu_compact_word (copy, end, (uint8_t) (rule >> LU_COMPACT_FP_SHIFT));
  bx = lu_compact_word (copy, end, (uint8_t) (rule >> LU_COMPACT_BX_SHIFT));
  if (__builtin_expect (pc == 0, 0))
    return 0;
  regs->pc = pc;
  regs->offset = end;
  regs->fp = (rule & LU_COMPACT_FP_SLOT) != 0 ? fp : regs->fp;
  regs->bx = (rule & LU_COMPACT_BX_SLOT) != 0 ? bx : regs->bx;
  regs->known = (rule & (LU_COMPACT_BX_SLOT | LU_COMPACT_BX_LOST)) != 0 ? rule : regs->known;
  return 1;
}
