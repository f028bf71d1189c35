/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-trampoline.c - the frame provider for Python's trampolines (python -X perf).
 *
 * A trampoline is generated code that calls the interpreter and keeps no frame pointer. It is
 * recognised by the place where its call returns to (LuArch.is_trampoline_return), and believed if
 * its own return address is in code with unwind information that has called through a pointer. */

#include "unwind/frame-provider.h"

static LuProviderResult
step (LuFrameContext *context, const LuDwflMapping *mapping, const LuFrameRegs *frame,
      LuFrameRegs *caller)
{
  const LuArch *arch = context->arch;
  guint64 slot = frame->sp + arch->trampoline_frame;
  const LuDwflMapping *above;

  if (context->is_exact || mapping->status != LU_STATUS_JIT || arch->is_trampoline_return == NULL
      || !arch->is_trampoline_return (frame->pc, mapping->start, mapping->end - mapping->start)
      || !lu_frame_read_word (context, slot, &caller->pc) || caller->pc <= LU_FP_MIN_ADDRESS)
    return LU_PROVIDER_NONE;
  above = context->ops->find (context->data, caller->pc - 1);
  if (above == NULL || above->status != LU_STATUS_COMPLETE
      || lu_frame_rule_at (context, above, caller->pc - 1) == LU_FP_RULE_NONE)
    return LU_PROVIDER_NONE;
  caller->fp = frame->fp;
  caller->sp = slot + arch->word_size;
  switch (context->ops->call_before (context->data, above, caller->pc))
    {
    case LU_CALL_UNKNOWN:
      return LU_PROVIDER_UNKNOWN;
    case LU_CALL_INDIRECT:
      return LU_PROVIDER_FOUND;
    default:
      return LU_PROVIDER_NONE;
    }
}

const LuFrameProvider lu_python_trampoline_provider = {
  .name = "python-trampoline",
  .step = step,
};
