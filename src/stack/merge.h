/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* merge.h - joins the kernel's frames and the unwound user frames into one stack, leaf first.
 *
 * Kernel frames are those of the callchain that the kernel put under PERF_CONTEXT_KERNEL (and
 * hypervisor or guest contexts, flagged so); its own user part, a frame-pointer chain, is dropped:
 * a stack from unwind information wins over it, length decides nothing. Sinks make the markers
 * again where kernel frames are followed by user frames. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"

/* Kernel frames the merge keeps at most (kernel.perf_event_max_stack is 127 by default, 640 at most
 * here). */
#define LU_MERGE_MAX_KERNEL_FRAMES 640

/* Writes the kernel part of a callchain to `frames`; returns how many. A kernel-mode sample without
 * callchain gives its ip. */
uint32_t lu_merge_kernel_frames (const LuSample *sample,
                                 LuFrame frames[LU_MERGE_MAX_KERNEL_FRAMES]);

/* Of a sample with nothing to unwind (LuSample.is_chain): appends what its callchain says of user
 * mode, or the calls that the CPU remembered, or the ip alone. The stack's state changes only when
 * it is full. */
void lu_merge_user_chain (const LuSample *sample, LuStack *stack);
