/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* root.h - recognizes code that stacks made by hand begin with: what their first function returns
 * to.
 *
 * Nothing calls this code, and no unwind information describes it. Both engines and the BPF program
 * look here when a caller's frame has no rule. */

#pragma once

#include "lu/step.h"

#define LU_ROOT_BYTES 16

/* Returns whether a frame of a caller without a return address, whose registers are those of its
 * caller, is the outermost one: where stacks begin, the frame pointer is 0, too (System V ABI,
 * AMD64 supplement, 3.4.1). */
static inline int
lu_root_is_marked (const struct lu_regs *caller)
{
  return (caller->known & LU_KNOWN_FP) != 0 && (caller->fp | caller->pc) == 0;
}
