/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer-step.h - the caller of code without unwind information, by frame pointer.
 *
 * A frame provider (frame-provider.h) for generated code, hand-written code and start files. It
 * believes a frame pointer only if that is in the copied stack, aligned, not below the stack
 * pointer and above that of the walk's previous such step, and leads to a return address in
 * executable memory with a call before it, where that can be read. frame-pointer-step.c
 * describes the two traps that remain. */

#pragma once

#include "unwind/compact-step.h"
#include "lu/stack.h"
#include "unwind/frame-provider.h"

/* Returns whether code in this mapping may be stepped from where it has no unwind information. */
static inline gboolean
lu_fp_step_is_possible (const LuDwflMapping *mapping)
{
  return mapping->status == LU_STATUS_JIT || mapping->status == LU_STATUS_COMPLETE
         || (mapping->status == LU_STATUS_NO_UNWIND_INFO
             && !lu_module_key_is_kernel_page (lu_module_key (mapping->module)));
}

/* Returns whether a walk that ends like this may have been misled by a frame-pointer step. The
 * stack then ends where that step was made. If the copy ended early, because a page was absent,
 * that shows nothing: large frames have pages that nobody has touched. */
static inline gboolean
lu_fp_step_is_refuted_by (LuStatus status, gboolean is_at_absent_page)
{
  return status == LU_STATUS_BAD_RETURN_ADDRESS || status == LU_STATUS_NO_MAPPING
         || status == LU_STATUS_OTHER_STACK
         || (status == LU_STATUS_UNREADABLE_MEMORY && !is_at_absent_page);
}

/* The first walk from a leaf without unwind information whose end is no proof that it went wrong:
 * the copy ended before the stack did. */
typedef struct
{
  LuStatus status; /* COMPLETE: there is none */
  guint64 needed;  /* LuStack.stack_needed */
} LuCutOffWalk;

static inline void
lu_cut_off_walk_note (LuCutOffWalk *self, const LuStack *stack, const LuSample *sample)
{
  if (self->status == LU_STATUS_COMPLETE
      && (stack->status == LU_STATUS_TRUNCATED_COPY
          || (stack->status == LU_STATUS_UNREADABLE_MEMORY
              && sample->stack_size < sample->stack_asked)))
    *self = (LuCutOffWalk){ stack->status, stack->stack_needed };
}

/* Facts: code addresses, each in one version of an address space, between which repeatable steps
 * (LuFrameContext.is_repeatable) were made. The table engine repeats them in its hot loop. Belongs
 * to one walker. */
#define LU_FP_STEP_FACT_BITS  10
#define LU_FP_STEP_FACT_SHIFT 3

enum
{
  LU_FP_STEP_FROM = 1 << 0,   /* a return address into code that may be stepped from */
  LU_FP_STEP_TO = 1 << 1,     /* a return address that may be believed */
  LU_FP_STEP_TO_JIT = 1 << 2, /* if the frame pointer there is possible */
};

typedef struct
{
  struct
  {
    guint64 pc, facts; /* facts: the serial number above the bits */
  } slots[1 << LU_FP_STEP_FACT_BITS];
} LuFpStepFacts;

/* Notes both ends of a repeatable step. */
void lu_fp_step_facts_note (LuFpStepFacts *self, guint64 serial, guint64 pc, guint bits);
/* Repeats a step: moves `regs` to the caller and returns LU_COMPACT_FP_STEP. Returns 0 if the
 * providers must be asked. For 64-bit code whose calls
 * leave return addresses on the stack, while no module of the address space is pending. */
lu_compact_rule lu_fp_step_facts_step (const LuFpStepFacts *self, const LuProviderState *state,
                                       const struct lu_copy *copy, struct lu_compact_regs *regs);
