/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plain.h - nearly all rules in 8 bytes each, and their step on a copy of a stack in memory.
 *
 * Used by the walker in front of lu_step(), with the same result wherever it goes through
 * (tests/unit/unwind/test-plain.c). A rule is plain if the CFA is the stack or frame pointer plus
 * something, the return address just below it, and FP and BX are kept or saved in the frame. */

#pragma once

#include "lu/step.h"

#include <string.h>

/*  63      44 43     28 27  24 23      16 15       8 7     0
 *  | cfa_off | extra   | room | bx place | fp place | flags |
 * cfa_off: signed, bytes. Places: of the slot, in words above CFA - LU_PLAIN_REACH; where there is
 * none, that of the return address. Room: the words that must be between stack pointer and CFA;
 * what the rule alone makes sure of does not count. Extra belongs to who keeps it. 0 in all the
 * rest: the rule is for lu_step(). */
typedef uint64_t lu_plain;

#define LU_PLAIN_FP_SLOT      (1u << 0) /* as LU_KNOWN_FP */
#define LU_PLAIN_BX_SLOT      (1u << 1) /* as LU_KNOWN_BX */
#define LU_PLAIN              (1u << 2)
#define LU_PLAIN_BY_FP        (1u << 3) /* cfa = fp + cfa_off, else sp + cfa_off */
#define LU_PLAIN_BX_LOST      (1u << 4) /* not known in the caller */
#define LU_PLAIN_END          (1u << 5) /* alone: the outermost frame */
#define LU_PLAIN_GUESSED      (1u << 6) /* in a memo only: see LU_PLAIN_GUESS */
#define LU_PLAIN_GUESS_ASKED  (1u << 7) /* and it has asked for one rule */
#define LU_PLAIN_FP_SHIFT     8
#define LU_PLAIN_BX_SHIFT     16
#define LU_PLAIN_ROOM_SHIFT   24
#define LU_PLAIN_EXTRA_SHIFT  28
#define LU_PLAIN_CFA_SHIFT    44
#define LU_PLAIN_MAX_CFA      (1 << 19)
#define LU_PLAIN_MAX_ROOM     15
#define LU_PLAIN_MAX_PLACE    255
#define LU_PLAIN_REACH        (8 * (LU_PLAIN_MAX_PLACE + 1))
#define LU_PLAIN_EXTRA_MASK   ((uint64_t) 0xffff << LU_PLAIN_EXTRA_SHIFT)
#define LU_PLAIN_EXTRA(plain) ((uint32_t) ((plain) >> LU_PLAIN_EXTRA_SHIFT) & 0xffff)
#define LU_PLAIN_ROOM(plain)                                                                       \
  ((uint64_t) ((plain) >> (LU_PLAIN_ROOM_SHIFT - 3)) & 8 * LU_PLAIN_MAX_ROOM)
#define LU_PLAIN_CFA(plain) ((int64_t) (plain) >> LU_PLAIN_CFA_SHIFT)
/* shift: LU_PLAIN_FP_SHIFT or LU_PLAIN_BX_SHIFT */
#define LU_PLAIN_PLACE(plain, shift) ((uint8_t) ((plain) >> (shift)))

/* The step of a guess (guess.h) that frame pointer, the two words that it points to and their place
 * decide. */
#define LU_PLAIN_GUESS                                                                             \
  (LU_PLAIN | LU_PLAIN_BY_FP | LU_PLAIN_FP_SLOT | LU_PLAIN_BX_LOST | LU_PLAIN_GUESSED              \
   | 254u << LU_PLAIN_FP_SHIFT | 255u << LU_PLAIN_BX_SHIFT | 2u << LU_PLAIN_ROOM_SHIFT             \
   | (uint64_t) 16 << LU_PLAIN_CFA_SHIFT)

/* Bytes of a stack copy. */
struct lu_copy
{
  const uint8_t *bytes;
  uint64_t start; /* run-time address of the first one */
  uint64_t size;
};

/* Registers between plain steps, which are made only if the frame pointer is known. */
struct lu_plain_regs
{
  uint64_t pc;
  uint64_t offset; /* of the stack pointer in the copy: at most its size */
  uint64_t fp, bx;
  uint64_t known; /* BX if bit LU_KNOWN_BX is set; FP always is. The other bits mean nothing */
};

/* The depth of a register saved at cfa + 8 * off; 0 if that is not in the frame, below the return
 * address, or too deep. */
static inline uint32_t
lu_plain_depth (const struct lu_rule *rule, int16_t off)
{
  return off <= -2 && off >= -LU_PLAIN_MAX_PLACE
                 && (rule->cfa_kind == LU_CFA_FP || rule->cfa_off + 8 * (int64_t) off >= 0)
             ? (uint32_t) -off
             : 0;
}

/* 0 for a rule that is not plain. */
static inline lu_plain
lu_plain_make (const struct lu_rule *rule)
{
  enum lu_save_kind fp = lu_rule_fp_kind (rule), bx = lu_rule_bx_kind (rule);
  uint32_t fp_depth = fp == LU_SAVE_AT_CFA ? lu_plain_depth (rule, rule->fp_off) : 1;
  uint32_t bx_depth = bx == LU_SAVE_AT_CFA ? lu_plain_depth (rule, rule->bx_off) : 1;
  uint32_t room = rule->cfa_kind != LU_CFA_FP ? 1 : fp_depth > bx_depth ? fp_depth : bx_depth;

  if (rule->ra_kind == LU_RA_END)
    return LU_PLAIN_END;
  if ((rule->cfa_kind != LU_CFA_SP && rule->cfa_kind != LU_CFA_FP) || rule->flags != 0
      || rule->ra_kind != LU_RA_AT_CFA || rule->ra_off != -1 || fp_depth == 0 || bx_depth == 0
      || rule->cfa_off >= LU_PLAIN_MAX_CFA || rule->cfa_off < -LU_PLAIN_MAX_CFA
      || (rule->cfa_kind == LU_CFA_SP && rule->cfa_off < 8) || room > LU_PLAIN_MAX_ROOM
      || (fp != LU_SAVE_SAME && fp != LU_SAVE_AT_CFA) || bx == LU_SAVE_AT_SP || bx == LU_SAVE_AT_FP)
    return 0;
  return (uint64_t) (int64_t) rule->cfa_off << LU_PLAIN_CFA_SHIFT
         | (uint64_t) room << LU_PLAIN_ROOM_SHIFT
         | (uint64_t) (LU_PLAIN_MAX_PLACE + 1 - bx_depth) << LU_PLAIN_BX_SHIFT
         | (uint64_t) (LU_PLAIN_MAX_PLACE + 1 - fp_depth) << LU_PLAIN_FP_SHIFT | LU_PLAIN
         | (rule->cfa_kind == LU_CFA_FP ? LU_PLAIN_BY_FP : 0)
         | (fp == LU_SAVE_AT_CFA ? LU_PLAIN_FP_SLOT : 0)
         | (bx == LU_SAVE_AT_CFA ? LU_PLAIN_BX_SLOT
            : bx == LU_SAVE_SAME ? 0
                                 : LU_PLAIN_BX_LOST);
}

static inline uint64_t
lu_copy_word (const struct lu_copy *copy, uint64_t offset)
{
  uint64_t value;

  memcpy (&value, copy->bytes + offset, sizeof value);
  return value;
}

/* The word at a place below the CFA, which is at `end` in the copy. */
static inline uint64_t
lu_plain_word (const struct lu_copy *copy, uint64_t end, uint8_t place)
{
  uint64_t value;

  memcpy (&value, copy->bytes + end + 8 * (uint64_t) place - LU_PLAIN_REACH, sizeof value);
  return value;
}

_Static_assert((int) LU_PLAIN_FP_SLOT == (int) LU_KNOWN_FP, "a slot makes its register known");
_Static_assert((int) LU_PLAIN_BX_SLOT == (int) LU_KNOWN_BX, "a slot makes its register known");

/* As lu_step(), or 0 with `regs` unchanged: then lu_step() is to be asked. That is so where the
 * return address is 0. */
static inline __attribute__ ((always_inline)) int
lu_plain_step (struct lu_plain_regs *regs, lu_plain plain, const struct lu_copy *copy)
{
  uint64_t end = regs->offset + (uint64_t) LU_PLAIN_CFA (plain); /* offset of the CFA */
  uint64_t pc, fp, bx;

  /* The CFA is in the copy and above the stack pointer, which is no further than its end. A rule
   * that begins there makes sure of the second itself. */
  if ((plain & LU_PLAIN_BY_FP) != 0)
    {
      end = regs->fp - copy->start + (uint64_t) LU_PLAIN_CFA (plain);
      if (__builtin_expect (regs->offset + LU_PLAIN_ROOM (plain) > end, 0))
        return 0;
    }
  if (__builtin_expect (end > copy->size, 0))
    return 0;
  pc = lu_copy_word (copy, end - 8);
  /* Without a slot that is the return address, too. */
  fp = lu_plain_word (copy, end, LU_PLAIN_PLACE (plain, LU_PLAIN_FP_SHIFT));
  bx = lu_plain_word (copy, end, LU_PLAIN_PLACE (plain, LU_PLAIN_BX_SHIFT));
  if (__builtin_expect (pc == 0, 0))
    return 0;
  regs->pc = pc;
  regs->offset = end;
  regs->fp = (plain & LU_PLAIN_FP_SLOT) != 0 ? fp : regs->fp;
  regs->bx = (plain & LU_PLAIN_BX_SLOT) != 0 ? bx : regs->bx;
  regs->known = (plain & (LU_PLAIN_BX_SLOT | LU_PLAIN_BX_LOST)) != 0 ? plain : regs->known;
  return 1;
}
