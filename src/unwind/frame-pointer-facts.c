/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-facts.c - steps that are repeated; see frame-pointer-step.h. */

#include "unwind/frame-pointer-step.h"

static guint
slot_of (guint64 serial, guint64 pc)
{
  return (guint) (((pc ^ serial << 47) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15))
                  >> (64 - LU_FP_STEP_FACT_BITS));
}

static guint
facts_of (const LuFpStepFacts *self, guint64 serial, guint64 pc)
{
  guint i = slot_of (serial, pc);
  guint64 facts = self->slots[i].facts;

  return self->slots[i].pc == pc && facts >> LU_FP_STEP_FACT_SHIFT == serial
             ? (guint) facts & ((1 << LU_FP_STEP_FACT_SHIFT) - 1)
             : 0;
}

void
lu_fp_step_facts_note (LuFpStepFacts *self, guint64 serial, guint64 pc, guint bits)
{
  guint i = slot_of (serial, pc);

  bits |= facts_of (self, serial, pc);
  self->slots[i].pc = pc;
  self->slots[i].facts = serial << LU_FP_STEP_FACT_SHIFT | bits;
}

lu_compact_rule
lu_fp_step_facts_step (const LuFpStepFacts *self, const LuProviderState *state,
                       const struct lu_copy *copy, struct lu_compact_regs *regs)
{
  guint64 offset = regs->fp - copy->start, word = sizeof (guint64), pc, fp;
  guint to;

  /* The checks of lu_fp_is_frame_pointer(), with both words in the copy. */
  if ((regs->fp & (word - 1)) != 0 || regs->fp <= state->last_fp || offset < regs->offset
      || copy->size < 2 * word || offset > copy->size - 2 * word
      || (facts_of (self, state->serial, regs->pc) & LU_FP_STEP_FROM) == 0)
    return 0;
  fp = lu_copy_word (copy, offset);
  pc = lu_copy_word (copy, offset + word);
  to = facts_of (self, state->serial, pc);
  if ((to & LU_FP_STEP_TO) == 0 || fp - copy->start >= copy->size)
    return 0;
  if ((to & LU_FP_STEP_TO_JIT) != 0 && ((fp & (word - 1)) != 0 || fp < regs->fp + 2 * word))
    return 0;
  *regs = (struct lu_compact_regs){
    .pc = pc, .offset = offset + 2 * word, .fp = fp, .known = LU_KNOWN_FP
  };
  return LU_COMPACT_FP_STEP;
}
