/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walked.h - takes over stacks that were walked in the kernel (include/lu/bpf.h): makes frames of
 * their addresses, as far as the address space of their time bears them out.
 *
 * What the kernel's walk knows of a process lags what side-band says of it. A stack is as good as
 * the mappings it was walked with: they must be those of its time, in each place that it leads
 * through. Belongs to the drain thread; nothing is allocated. */

#pragma once

#include "lu/bpf.h"
#include "lu/event.h"
#include "lu/stack.h"
#include "process/process.h"

/* How far a stack is good. */
typedef struct
{
  LuStatus status; /* that of the walk; STALE_MAPPING after the frame in whose place another file is
                      mapped than the walk thought; NO_MAPPING before a frame in no mapping */
  guint32 n_user;  /* frames of it that stay */
  guint64 end_pc;  /* as in LuStack */
} LuWalkedResult;

/* n_certain: of the outermost frames, if `walked` was walked in this space: known to be in it. */
LuWalkedResult lu_walked_check (const LuWalkedStack *walked, LuProcess *process, LuSpace *space,
                                guint32 n_certain);
/* User frames of `walked`, as far as they are good, and the state into `stack` (reset by the
 * caller). */
void lu_walked_take (const LuWalkedStack *walked, LuProcess *process, LuSpace *space,
                     LuStack *stack);
/* Its kernel frames, leaf first; returns how many: at most LU_BPF_MAX_KERNEL, at least one. 0 if
 * the sample did not hit the kernel. */
guint32 lu_walked_kernel_pcs (const LuWalkedStack *walked, guint64 *pcs);
guint32 lu_walked_kernel_frames (const LuWalkedStack *walked, LuFrame *frames);

/* The flags of a user frame as in LuFrame, of its word in a record. */
static inline guint32
lu_walked_flags (guint64 word)
{
  return (guint32) ((word & LU_BPF_PC_RETURN) / (LU_BPF_PC_RETURN / LU_FRAME_RETURN_ADDRESS)
                    | (word & LU_BPF_PC_GUESSED) / (LU_BPF_PC_GUESSED / LU_FRAME_GUESSED));
}
