/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf.c - follows the code of a leaf to where it shows its return address; see leaf.h.
 *
 * Code is followed as if no branch were taken: where the return address is at one place of the code
 * does not depend on the way there. It ends at a return, at the jump of a procedure linkage table,
 * or at a prologue: up to there, nothing may write the stack pointer, the frame pointer or the link
 * register. Or it ends where it loads the last two from the stack; calls before that do no harm.
 * An instruction that may do something else leaves the code undecided. Instructions: Arm
 * Architecture Reference Manual, C4.1. */

#include "arch/aarch64/leaf.h"

#include "arch/aarch64/code.h"

#include <string.h>

#define INSTRUCTION 4
#define N_WORDS     (LU_AARCH64_LEAF_BYTES / INSTRUCTION)
#define BTI_C       0xd503245f

typedef enum
{
  EFFECT_NONE,
  EFFECT_UNKNOWN, /* it may write one of the three registers, or go elsewhere */
  EFFECT_SETS_FP, /* it writes the frame pointer only */
  EFFECT_CALLS,
  EFFECT_RETURNS, /* or begins the frame of a function */
  EFFECT_LOADS,   /* frame pointer and link register */
} Effect;

/* The effect of writing a register; 31 is none. */
static Effect
write_of (guint32 number)
{
  return number == 29 || number == 30 ? EFFECT_UNKNOWN : EFFECT_NONE;
}

/* The effect of writing a register; 31 is the stack pointer. */
static Effect
write_or_sp_of (guint32 number)
{
  return number >= 29 ? EFFECT_UNKNOWN : EFFECT_NONE;
}

static Effect
of_immediate (guint32 word)
{
  gboolean is_add = (word & 0x1f000000) == 0x11000000,
           is_logical = (word & 0x1f800000) == 0x12000000;
  gboolean has_sp =
      (is_add && (word & 0x20000000) == 0) || (is_logical && (word & 0x60000000) != 0x60000000);

  if ((word & 0xffc003ff) == 0x910003fd) /* add x29, sp, #offset; mov x29, sp */
    return EFFECT_SETS_FP;
  return has_sp ? write_or_sp_of (word & 31) : write_of (word & 31);
}

static Effect
of_registers (guint32 word)
{
  gboolean has_sp = (word & 0x3f200000) == 0x0b200000; /* add, sub with an extended register */

  return has_sp ? write_or_sp_of (word & 31) : write_of (word & 31);
}

static Effect
of_pair (guint32 word)
{
  gboolean is_load = (word >> 22 & 1) != 0 && (word >> 26 & 1) == 0;

  if ((word & 0xffe07fff) == 0xa9a07bfd) /* stp x29, x30, [sp, #-n]! */
    return EFFECT_RETURNS;
  if ((word & 0xffe07fff) == 0xa9407bfd || (word & 0xffe07fff) == 0xa8c07bfd)
    return EFFECT_LOADS; /* ldp x29, x30, [sp, #n]; ldp x29, x30, [sp], #n */
  if (is_load && (write_of (word & 31) | write_of (word >> 10 & 31)) != EFFECT_NONE)
    return EFFECT_UNKNOWN;
  return (word >> 23 & 1) != 0 ? write_or_sp_of (word >> 5 & 31) : EFFECT_NONE;
}

/* One register, at a register and an offset. */
static Effect
of_single (guint32 word)
{
  gboolean is_vector = (word >> 26 & 1) != 0, is_load = (word >> 22 & 3) != 0;
  guint32 form = word >> 10 & 3;
  Effect effect = is_load && !is_vector ? write_of (word & 31) : EFFECT_NONE;

  if ((word >> 24 & 1) != 0) /* a multiple of the size */
    return effect;
  if ((word >> 21 & 1) == 0) /* forms 1 and 3 change the register of the address */
    return (form & 1) != 0 && write_or_sp_of (word >> 5 & 31) != EFFECT_NONE ? EFFECT_UNKNOWN
                                                                             : effect;
  if (form == 0) /* atomic instructions return the old value */
    return is_vector ? EFFECT_UNKNOWN : write_of (word & 31);
  return form == 2 ? effect : EFFECT_UNKNOWN;
}

static Effect
of_memory (guint32 word)
{
  gboolean is_vector = (word >> 26 & 1) != 0, is_other = (word >> 24 & 1) != 0;

  switch (word >> 28 & 3)
    {
    case 0: /* structures of vectors; exclusive access, and compare and swap */
      if (is_vector)
        return (word >> 23 & 1) != 0 ? write_or_sp_of (word >> 5 & 31) : EFFECT_NONE;
      return is_other
                 ? EFFECT_UNKNOWN
                 : write_of (word & 31) | write_of (word >> 10 & 31) | write_of (word >> 16 & 31);
    case 1: /* relative to the pc */
      return is_other ? EFFECT_UNKNOWN : is_vector ? EFFECT_NONE : write_of (word & 31);
    case 2:
      return of_pair (word);
    default:
      return of_single (word);
    }
}

/* Jumps without a condition are not followed. */
static Effect
of_branch (guint32 word)
{
  gint64 displacement;

  if (lu_call_decode ((guint64) word << 32, &displacement) != LU_CALL_NONE)
    return EFFECT_CALLS;
  if ((word & 0xff000010) == 0x54000000 /* b.cond; cbz, cbnz, tbz, tbnz; barriers */
      || (word & 0x7c000000) == 0x34000000 || (word & 0xfffff01f) == 0xd503301f)
    return EFFECT_NONE;
  if ((word & 0xfff00000) == 0xd5300000) /* mrs */
    return write_of (word & 31);
  switch (word)
    {
    case 0xd503201f: /* nop; bti; bti c, j, jc; autiasp, autibsp */
    case 0xd503241f:
    case BTI_C:
    case 0xd503249f:
    case 0xd50324df:
    case 0xd50323bf:
    case 0xd50323ff:
      return EFFECT_NONE;
    case 0xd65f03c0: /* ret, retaa, retab; paciasp, pacibsp */
    case 0xd65f0bff:
    case 0xd65f0fff:
    case 0xd503233f:
    case 0xd503237f:
      return EFFECT_RETURNS;
    default:
      return EFFECT_UNKNOWN;
    }
}

static Effect
effect_of (guint32 word, guint32 before)
{
  /* add x16, x16, #offset; br x17: the end of an entry of a procedure linkage table */
  if (word == 0xd61f0220 && (before & 0xffc003ff) == 0x91000210)
    return EFFECT_RETURNS;
  if ((word >> 26 & 7) == 4)
    return of_immediate (word);
  if ((word >> 26 & 7) == 5)
    return of_branch (word);
  if ((word >> 25 & 7) == 5)
    return of_registers (word);
  if ((word >> 25 & 7) == 7) /* vectors, which some instructions move to general registers */
    return write_of (word & 31);
  return (word >> 25 & 5) == 4 ? of_memory (word) : EFFECT_UNKNOWN;
}

/* Describes where an instruction loads both registers from. */
static guint32
popped_by (guint32 word)
{
  gboolean is_above = (word & 0xff000000) == 0xa9000000;
  guint32 at = is_above ? word >> 15 & 0x3f : 0;

  return LU_LEAF_POPPED | (at + 1) << LU_LEAF_DEPTH_SHIFT | (at + 1) << LU_LEAF_FP_SHIFT;
}

guint32
lu_aarch64_leaf_of (const guint8 *code)
{
  guint32 words[N_WORDS];
  gboolean is_bare = TRUE;

  memcpy (words, code, sizeof words);
  for (guint i = 0; i < N_WORDS; i++)
    switch (effect_of (words[i], i > 0 ? words[i - 1] : 0))
      {
      case EFFECT_NONE:
        break;
      case EFFECT_SETS_FP:
      case EFFECT_CALLS:
        is_bare = FALSE;
        break;
      case EFFECT_RETURNS:
        return is_bare ? LU_LEAF_BARE : LU_LEAF_UNDECIDED;
      case EFFECT_LOADS:
        return popped_by (words[i]);
      default:
        return LU_LEAF_UNDECIDED;
      }
  return LU_LEAF_UNDECIDED;
}

gboolean
lu_aarch64_is_plt_entry (const guint8 *code)
{
  guint32 words[3];
  guint at;

  memcpy (words, code, sizeof words);
  at = words[0] == BTI_C ? 1 : 0;
  return (words[at] & 0x9f00001f) == 0x90000010 && (words[at + 1] & 0xffc003ff) == 0xf9400211;
}
