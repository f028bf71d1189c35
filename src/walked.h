/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walked.h - takes over stacks that were walked in the kernel (include/lu/bpf.h): makes frames of
 * their addresses, as far as the address space of their time bears them out.
 *
 * What the kernel's walk knows of a process lags what side-band says of it. A stack is as good as
 * the mappings it was walked with: they must be those of its time, in each place that it leads
 * through. Belongs to the drain thread; nothing is allocated. */

#pragma once

#include "lu/event.h"
#include "lu/stack.h"
#include "process/process.h"

/* User frames of `walked` into `stack` (reset by the caller), and the state: that of the walk;
 * STALE_MAPPING after the frame in whose place another file is mapped than the walk thought;
 * NO_MAPPING before a frame that is in no mapping. */
void lu_walked_take (const LuWalkedStack *walked, LuProcess *process, LuSpace *space,
                     LuStack *stack);
/* Its kernel frames, leaf first; returns how many: at most LU_BPF_MAX_KERNEL, at least one. 0 if
 * the sample did not hit the kernel. */
guint32 lu_walked_kernel_frames (const LuWalkedStack *walked, LuFrame *frames);
