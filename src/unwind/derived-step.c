/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* derived-step.c - see derived-step.h. */

#include "unwind/derived-step.h"

/* Returns whether the return address is that of a restorer of signal frames, which no call
 * precedes. */
static gboolean
is_restorer (const LuDerivedStep *step)
{
  struct lu_rule rule;

  return lu_module_find_rule (step->mapping->module, step->pc - 1 - step->mapping->bias, &rule)
         && (rule.flags & LU_RULE_SIGNAL) != 0;
}

LuProviderResult
lu_derived_step_verify (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                        const LuDerivedStep *step)
{
  LuTableSlot *slot = lu_module_table_slot (step->code->module);
  LuFrameCall call = {
    .mapping = step->mapping, .code = step->code, .pc = step->pc, .is_exact = TRUE
  };
  LuProviderResult result;
  guint64 start;

  if (step->mapping == NULL || step->mapping->status != LU_STATUS_COMPLETE || slot == NULL)
    return LU_PROVIDER_NONE;
  if (!lu_table_slot_find_start (slot, step->lookup - step->code->bias, &start))
    {
      /* The table may have been dropped while the walk in the kernel keeps a copy of it. */
      lu_table_slot_miss (slot, lu_module_image (step->code->module));
      return LU_PROVIDER_NONE;
    }
  if (is_restorer (step))
    return LU_PROVIDER_FOUND;
  call.to = start + step->code->bias;
  result = lu_code_leads_to (reader, pid, arch, &call);
  return result == LU_PROVIDER_NONE ? lu_code_is_root (reader, pid, arch, step->mapping, step->pc)
                                    : result;
}
