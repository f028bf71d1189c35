/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* derived-step.h - verifies a step by a row that is not from CFI (LU_RULE_DERIVED).
 *
 * The return address must stand behind a call. A direct call must lead to the function whose frame
 * it was, by jumps or a procedure linkage table perhaps; an indirect one may lead to any function
 * whose start is known. Nothing calls the code to which stacks made by hand return
 * (lu_code_is_root()), whose bytes are known. Each pair of a return address and a function is read
 * once and kept with the module of the call. Both engines ask here. */

#pragma once

#include "unwind/code-facts.h"

/* One step. */
typedef struct
{
  const LuDwflMapping *code;    /* of the frame */
  guint64 lookup;               /* run-time address of the frame's code */
  const LuDwflMapping *mapping; /* of the caller; NULL: none */
  guint64 pc;                   /* the return address */
} LuDerivedStep;

/* Returns how a stack ends at a step that is not verified. */
static inline LuStatus
lu_derived_step_status (const LuDerivedStep *step)
{
  return step->mapping != NULL && step->mapping->status != LU_STATUS_COMPLETE
             ? step->mapping->status
             : LU_STATUS_BAD_RETURN_ADDRESS;
}

/* FOUND: it is verified; NONE: it is wrong, or cannot be verified; UNKNOWN: as lu_code_call(). */
LuProviderResult lu_derived_step_verify (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                                         const LuDerivedStep *step);
