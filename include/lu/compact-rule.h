/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compact-rule.h - the common rules in 8 bytes, for the fast steps of the table engine and the BPF
 * program.
 *
 * A rule is compact if the CFA is the stack or frame pointer plus a constant, the return address is
 * just below the CFA, and FP and BX are kept or saved in the frame. Nearly all rules are. The fast
 * steps (src/unwind/compact-step.h, bpf/walk-compact.h) give the same result as lu_step(), or leave
 * the step to it.
 *
 *  63      44 43     28 27  24 23     16 15      8 7     0
 *  | cfa_off | extra   | room | bx slot | fp slot | flags |
 *
 * cfa_off  signed, in bytes
 * extra    free for the owner of the rule
 * room     the number of words that must lie between stack pointer and CFA; 0: not compact
 * slots    in words above CFA - LU_COMPACT_REACH; that of the return address if there is none
 *
 * A rule for lu_step() has only its extra bits set. */

#pragma once

#include "lu/step.h"

typedef uint64_t lu_compact_rule;

/* Flags. Bits 0 to 2 are those that the BPF program sets in what it knows of the caller; it clears
 * those that bits 3 to 5 stand for. */
#define LU_COMPACT_FP_SLOT    (1u << 0) /* FP is saved in its slot; the value of LU_KNOWN_FP */
#define LU_COMPACT_BX_SLOT    (1u << 1) /* BX is saved in its slot; the value of LU_KNOWN_BX */
#define LU_COMPACT_FP_DEEP    (1u << 2) /* with FP_SLOT: not just below the return address */
#define LU_COMPACT_FP_STEPPED (1u << 3) /* only in src/unwind/memo.h: a frame-pointer step */
#define LU_COMPACT_BX_LOST    (1u << 4) /* BX is not known in the caller */
#define LU_COMPACT_FP_PAIR    (1u << 5) /* with FP_SLOT: just below the return address */
#define LU_COMPACT_BY_FP      (1u << 6) /* cfa = fp + cfa_off, otherwise sp + cfa_off */
#define LU_COMPACT_END        (1u << 7) /* the outermost frame */

#define LU_COMPACT_FP_SHIFT    8
#define LU_COMPACT_BX_SHIFT    16
#define LU_COMPACT_ROOM_SHIFT  24
#define LU_COMPACT_EXTRA_SHIFT 28
#define LU_COMPACT_CFA_SHIFT   44

#define LU_COMPACT_MAX_CFA  (1 << 19)
#define LU_COMPACT_MAX_ROOM 15
#define LU_COMPACT_MAX_SLOT 255
#define LU_COMPACT_REACH    (8 * (LU_COMPACT_MAX_SLOT + 1))

/* Not 0 for a compact rule. */
#define LU_COMPACT            ((uint64_t) LU_COMPACT_MAX_ROOM << LU_COMPACT_ROOM_SHIFT)
#define LU_COMPACT_EXTRA_MASK ((uint64_t) 0xffff << LU_COMPACT_EXTRA_SHIFT)

/* The rule of an outermost frame. Its CFA is below the stack pointer, so a step that checks the
 * room fails there. */
#define LU_COMPACT_OUTERMOST (LU_COMPACT_END | ~(uint64_t) 0 << LU_COMPACT_CFA_SHIFT)

#define LU_COMPACT_EXTRA(rule) ((uint32_t) ((rule) >> LU_COMPACT_EXTRA_SHIFT) & 0xffff)
/* In bytes. */
#define LU_COMPACT_ROOM(rule)                                                                      \
  ((uint64_t) ((rule) >> (LU_COMPACT_ROOM_SHIFT - 3)) & 8 * LU_COMPACT_MAX_ROOM)
#define LU_COMPACT_CFA(rule) ((uint64_t) ((int64_t) (rule) >> LU_COMPACT_CFA_SHIFT))
/* The slot of FP (LU_COMPACT_FP_SHIFT) or BX, in bytes above CFA - LU_COMPACT_REACH. */
#define LU_COMPACT_SLOT(rule, shift) ((rule) >> ((shift) -3) & 8 * LU_COMPACT_MAX_SLOT)

_Static_assert((int) LU_COMPACT_FP_SLOT == (int) LU_KNOWN_FP, "a slot makes its register known");
_Static_assert((int) LU_COMPACT_BX_SLOT == (int) LU_KNOWN_BX, "a slot makes its register known");
_Static_assert(LU_COMPACT_BX_LOST >> 3 == LU_COMPACT_BX_SLOT, "clears what the slot sets");
_Static_assert(LU_COMPACT_FP_PAIR >> 3 == LU_COMPACT_FP_DEEP, "clears what a deep slot sets");

/* The depth below the CFA, in words, of a register saved at cfa + 8 * off. 0 if that is outside the
 * frame, not below the return address, or too deep. */
static inline uint64_t
lu_compact_depth (const struct lu_rule *rule, int64_t off)
{
  return off <= -2 && off >= -LU_COMPACT_MAX_SLOT
                 && (rule->cfa_kind == LU_CFA_FP || rule->cfa_off + 8 * off >= 0)
             ? (uint64_t) -off
             : 0;
}

/* Returns whether the CFA and the return address allow a compact rule. */
static inline int
lu_compact_can_be (const struct lu_rule *rule)
{
  if (rule->flags != 0 || rule->ra_kind != LU_RA_AT_CFA || rule->ra_off != -1
      || rule->cfa_off >= LU_COMPACT_MAX_CFA || rule->cfa_off < -LU_COMPACT_MAX_CFA)
    return 0;
  return rule->cfa_kind == LU_CFA_FP || (rule->cfa_kind == LU_CFA_SP && rule->cfa_off >= 8);
}

/* Returns the compact form of a rule, without extra; 0 if there is none. */
static inline lu_compact_rule
lu_compact_make (const struct lu_rule *rule)
{
  enum lu_save_kind fp = lu_rule_fp_kind (rule), bx = lu_rule_bx_kind (rule);
  uint64_t fp_depth = fp == LU_SAVE_AT_CFA ? lu_compact_depth (rule, rule->fp_off) : 1;
  uint64_t bx_depth = bx == LU_SAVE_AT_CFA ? lu_compact_depth (rule, rule->bx_off) : 1;
  uint64_t room = fp_depth > bx_depth ? fp_depth : bx_depth;
  uint64_t flags = 0;

  /* LU_BPF_RULE_TOP, of Go functions, ends the stack only in a caller's frame. */
  if (rule->ra_kind == LU_RA_END)
    return rule->cfa_kind == LU_CFA_COMPLEX ? 0 : LU_COMPACT_OUTERMOST;
  if (!lu_compact_can_be (rule) || fp_depth == 0 || bx_depth == 0)
    return 0;
  if (rule->cfa_kind == LU_CFA_FP)
    flags |= LU_COMPACT_BY_FP;
  else
    room = 1; /* the constant leaves room for the slots */
  if (fp == LU_SAVE_AT_CFA)
    flags |= LU_COMPACT_FP_SLOT | (fp_depth == 2 ? LU_COMPACT_FP_PAIR : LU_COMPACT_FP_DEEP);
  else if (fp != LU_SAVE_SAME)
    return 0;
  if (bx == LU_SAVE_AT_CFA)
    flags |= LU_COMPACT_BX_SLOT;
  else if (bx == LU_SAVE_UNKNOWN)
    flags |= LU_COMPACT_BX_LOST;
  else if (bx != LU_SAVE_SAME)
    return 0;
  if (room > LU_COMPACT_MAX_ROOM)
    return 0;
  return (uint64_t) (int64_t) rule->cfa_off << LU_COMPACT_CFA_SHIFT | room << LU_COMPACT_ROOM_SHIFT
         | (LU_COMPACT_MAX_SLOT + 1 - bx_depth) << LU_COMPACT_BX_SHIFT
         | (LU_COMPACT_MAX_SLOT + 1 - fp_depth) << LU_COMPACT_FP_SHIFT | flags;
}
