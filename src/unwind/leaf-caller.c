/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-caller.c - see leaf-caller.h. */

#include "unwind/leaf-caller.h"

#include "unwind/frame-pointer-step.h"

/* Returns whether the frame pointer may lead to the caller of the leaf. */
static gboolean
may_be_framed (const LuFrameOps *ops, gpointer data, const LuLeafWord *word)
{
  guint64 pc = word->by_fp;
  const LuDwflMapping *mapping = pc > LU_FP_MIN_ADDRESS ? ops->find (data, pc - 1) : NULL;

  return mapping != NULL && lu_fp_step_is_possible (mapping)
         && (mapping->status == LU_STATUS_JIT
             || ops->call_before (data, mapping, pc) != LU_CALL_NONE);
}

/* Returns whether the code of the leaf shows that its return address is `offset` bytes above its
 * stack pointer. */
static LuProviderResult
check_leaf (const LuFrameOps *ops, gpointer data, const LuLeafWord *word)
{
  LuLeaf leaf = ops->leaf_at (data, word->code, word->pc);

  if (leaf == LU_LEAF_UNKNOWN)
    return LU_PROVIDER_UNKNOWN;
  return (LU_LEAF_KIND (leaf) == LU_LEAF_BARE && word->offset == 0)
                 || (LU_LEAF_KIND (leaf) == LU_LEAF_PUSHED && word->offset == word->size)
                 || (LU_LEAF_KIND (leaf) == LU_LEAF_POPPED && LU_LEAF_FP_OF (leaf) == 0
                     && word->offset == LU_LEAF_DEPTH_OF (leaf) * word->size)
             ? LU_PROVIDER_FOUND
             : LU_PROVIDER_NONE;
}

LuProviderResult
lu_leaf_caller_check (const LuFrameOps *ops, gpointer data, const LuLeafWord *word)
{
  guint64 pc = word->value;
  const LuDwflMapping *mapping = pc > LU_FP_MIN_ADDRESS ? ops->find (data, pc - 1) : NULL;
  LuProviderResult result;
  enum lu_fp_rule rule;
  gboolean is_exact;

  if (mapping == NULL || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return LU_PROVIDER_END;
  result = ops->leads_to (
      data, &(LuFrameCall){ .mapping = mapping, .code = word->code, .pc = pc, .to = word->pc });
  if (result != LU_PROVIDER_FOUND)
    return result;
  rule = mapping->status == LU_STATUS_COMPLETE ? ops->rule_at (data, mapping, pc - 1)
                                               : LU_FP_RULE_NONE;
  if (!lu_fp_needs_table (rule))
    return LU_PROVIDER_END;
  /* A call from another file goes through a linkage table, whose entry may lead anywhere. */
  is_exact = mapping->module == word->code->module
             && ops->call_before (data, mapping, pc) == LU_CALL_DIRECT;
  return is_exact || !may_be_framed (ops, data, word) ? LU_PROVIDER_FOUND
                                                      : check_leaf (ops, data, word);
}
