/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* callchain.h - frames out of the callchain that the kernel puts into a sample.
 *
 * The kernel part of a stack is what follows PERF_CONTEXT_KERNEL (and hypervisor or guest contexts,
 * flagged so). The user part, a frame-pointer chain, is dropped where the stack is unwound: unwind
 * information wins over it, whichever is longer. Sinks write the context words again where kernel
 * frames are followed by user frames. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"

/* At most this many kernel frames are kept (kernel.perf_event_max_stack is 127 by default). */
#define LU_CALLCHAIN_MAX_KERNEL_FRAMES 640

/* Writes the kernel part of a callchain to `frames`; returns how many frames. A sample in kernel
 * mode without a callchain has one, its ip. */
uint32_t lu_callchain_kernel_frames (const LuSample *sample,
                                     LuFrame frames[LU_CALLCHAIN_MAX_KERNEL_FRAMES]);

/* For a sample with nothing to unwind (LuSample.is_chain): appends the user part of its callchain,
 * or the calls that the CPU recorded, or its ip alone. The stack's state changes only when it is
 * full. */
void lu_callchain_user_frames (const LuSample *sample, LuStack *stack);
