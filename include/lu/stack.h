/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stack.h - one unwound stack: frames, leaf first, and how the walk ended. */

#pragma once

#include "lu/status.h"

#include <stdint.h>

/* The most frames one stack holds: a 64 KiB copy holds at most 4,096 frames of the smallest size a
 * call leaves behind with the stack kept 16-aligned (System V ABI, processor supplement, 3.2.2). */
#define LU_STACK_MAX_FRAMES 4096

enum
{
  LU_FRAME_RETURN_ADDRESS = 1 << 0, /* pc is where the call returns to: look up pc - 1 */
  LU_FRAME_KERNEL = 1 << 1,
  LU_FRAME_HYPERVISOR = 1 << 2,
  LU_FRAME_GUEST_KERNEL = 1 << 3,
  LU_FRAME_GUEST_USER = 1 << 4,
  LU_FRAME_INFERRED = 1 << 5, /* found by frame pointer, not by unwind information */
  LU_FRAME_FUNCTION = 1 << 6, /* a function that an interpreter runs; pc: see lu_is_function() */
  LU_FRAME_DERIVED = 1 << 7,  /* found by rows that are not from CFI, and verified */
};

/* Bits that say that a frame is not one of the sampled task's own user frames. */
#define LU_FRAME_CONTEXT_MASK                                                                      \
  (LU_FRAME_KERNEL | LU_FRAME_HYPERVISOR | LU_FRAME_GUEST_KERNEL | LU_FRAME_GUEST_USER)

typedef struct
{
  uint64_t pc; /* raw address, as found in a register or on the stack */
  uint32_t flags;
  uint32_t stack_offset; /* stack pointer of the frame minus the sampled one; 0: unknown, or not a
                            user frame */
} LuFrame;

typedef struct
{
  LuStatus status;
  uint32_t n_frames;
  uint64_t end_pc;     /* pc of the frame the walk could not get past; 0 when complete */
  uint64_t sampled_sp; /* stack pointer of the sample */
  uint64_t
      stack_needed;    /* truncated copy: bytes above the sampled sp the next read wanted, else 0 */
  uint64_t stack_used; /* bytes above the sampled sp that the walk read, at most */
  uint8_t live_read;   /* something was read from the live process: never counts as complete */
  LuFrame frames[LU_STACK_MAX_FRAMES];
} LuStack;

static inline void
lu_stack_reset (LuStack *stack)
{
  stack->status = LU_STATUS_COMPLETE;
  stack->n_frames = 0;
  stack->end_pc = 0;
  stack->sampled_sp = 0;
  stack->stack_needed = 0;
  stack->stack_used = 0;
  stack->live_read = 0;
}

/* Appends a frame; returns 0 and sets the depth state when the stack is full. */
static inline int
lu_stack_push (LuStack *stack, uint64_t pc, uint32_t flags)
{
  if (stack->n_frames >= LU_STACK_MAX_FRAMES)
    {
      stack->status = LU_STATUS_DEPTH_LIMIT;
      return 0;
    }
  stack->frames[stack->n_frames++] = (LuFrame){ .pc = pc, .flags = flags };
  return 1;
}
