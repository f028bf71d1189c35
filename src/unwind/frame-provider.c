/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-provider.c - the frame providers, and their order; see frame-provider.h. */

#include "unwind/frame-provider.h"

static const LuFrameProvider *const providers[] = {
  &lu_frame_pointer_provider,
  &lu_python_trampoline_provider,
};

LuProviderResult
lu_frame_providers_step (LuFrameContext *context, const LuDwflMapping *mapping,
                         const LuFrameRegs *frame, LuFrameRegs *caller)
{
  LuProviderResult best = LU_PROVIDER_NONE;

  context->is_generated = mapping->status == LU_STATUS_JIT;
  for (guint i = 0; i < G_N_ELEMENTS (providers); i++)
    {
      LuProviderResult result;

      context->is_repeatable = FALSE;
      caller->has_sp = FALSE;
      result = providers[i]->step (context, mapping, frame, caller);
      if (result == LU_PROVIDER_END)
        return LU_PROVIDER_NONE;
      if (result == LU_PROVIDER_FOUND || result == LU_PROVIDER_UNKNOWN)
        return result;
      if (result == LU_PROVIDER_BEYOND)
        best = LU_PROVIDER_BEYOND;
    }
  return best;
}
