/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-caller.c - see leaf-caller.h. */

#include "unwind/leaf-caller.h"

#include "unwind/frame-pointer-step.h"

LuProviderResult
lu_leaf_caller_check (const LuFrameOps *ops, gpointer data, const LuDwflMapping *code, guint64 pc,
                      guint64 word)
{
  const LuDwflMapping *mapping = word > LU_FP_MIN_ADDRESS ? ops->find (data, word - 1) : NULL;
  LuProviderResult result;

  if (mapping == NULL || !lu_fp_step_is_possible (mapping))
    return LU_PROVIDER_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return LU_PROVIDER_END;
  result = ops->leads_to (data, mapping, word, code, pc);
  if (result != LU_PROVIDER_FOUND)
    return result;
  return mapping->status == LU_STATUS_COMPLETE
                 && ops->rule_at (data, mapping, word - 1) == LU_FP_RULE_OTHER
             ? LU_PROVIDER_FOUND
             : LU_PROVIDER_END;
}
