/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* merge.c - picks the kernel's own frames out of a callchain.
 *
 * A callchain is a list of addresses with context words in between: the values from -4095 upward,
 * the last page of the address space, are never addresses (enum perf_callchain_context,
 * perf_event.h). The words come from the kernel or from a file, so any order of them must do no
 * harm: what stands under a word that we do not know is dropped, and so is whatever stands under a
 * user context. */

#include "stack/merge.h"

#include <glib.h>

/* struct perf_branch_entry: from, to, flags */
#define BRANCH_WORDS 3

#define CONTEXT_MAX          ((uint64_t) -4095)
#define CONTEXT_HV           ((uint64_t) -32)
#define CONTEXT_KERNEL       ((uint64_t) -128)
#define CONTEXT_USER         ((uint64_t) -512)
#define CONTEXT_GUEST_KERNEL ((uint64_t) -2176)
#define CONTEXT_GUEST_USER   ((uint64_t) -2560)

/* PERF_RECORD_MISC_* (perf_event.h) */
enum
{
  CPUMODE_KERNEL = 1,
  CPUMODE_USER = 2,
  CPUMODE_HYPERVISOR = 3,
  CPUMODE_GUEST_KERNEL = 4,
  CPUMODE_GUEST_USER = 5,
};

/* The flag of the frames that follow a context word; 0: they are not kept. The word of a deferred
 * user chain (-640) is followed by a cookie, which is dropped like the addresses of a user chain.
 */
static uint32_t
context_flag (uint64_t word)
{
  switch (word)
    {
    case CONTEXT_KERNEL:
      return LU_FRAME_KERNEL;
    case CONTEXT_HV:
      return LU_FRAME_HYPERVISOR;
    case CONTEXT_GUEST_KERNEL:
      return LU_FRAME_GUEST_KERNEL;
    case CONTEXT_GUEST_USER:
      return LU_FRAME_GUEST_USER;
    default:
      return 0;
    }
}

/* What addresses before any context word are: what the CPU was doing. */
static uint32_t
cpumode_flag (uint8_t cpumode)
{
  switch (cpumode)
    {
    case CPUMODE_KERNEL:
      return LU_FRAME_KERNEL;
    case CPUMODE_HYPERVISOR:
      return LU_FRAME_HYPERVISOR;
    case CPUMODE_GUEST_KERNEL:
      return LU_FRAME_GUEST_KERNEL;
    case CPUMODE_GUEST_USER:
      return LU_FRAME_GUEST_USER;
    default:
      return 0;
    }
}

uint32_t
lu_merge_kernel_frames (const LuSample *sample, LuFrame frames[LU_MERGE_MAX_KERNEL_FRAMES])
{
  uint32_t flag = cpumode_flag (sample->cpumode);
  uint32_t n_frames = 0;

  for (uint32_t i = 0; i < sample->n_callchain && n_frames < LU_MERGE_MAX_KERNEL_FRAMES; i++)
    {
      uint64_t word = sample->callchain[i];

      if (word >= CONTEXT_MAX)
        flag = context_flag (word);
      else if (flag != 0)
        frames[n_frames++] = (LuFrame){ .pc = word, .flags = flag };
    }

  flag = cpumode_flag (sample->cpumode);
  if (n_frames == 0 && flag != 0 && sample->ip < CONTEXT_MAX)
    frames[n_frames++] = (LuFrame){ .pc = sample->ip, .flags = flag };
  return n_frames;
}

/* Of the calls, leaf first: each began at the instruction that it came from. */
static void
push_branches (const LuSample *sample, LuStack *stack)
{
  for (uint32_t i = 0; i < sample->n_branches; i++)
    {
      uint64_t from = sample->branches[i * BRANCH_WORDS];

      if (from == 0 || from >= CONTEXT_MAX || !lu_stack_push (stack, from, 0))
        return;
    }
}

/* The first address is where user mode was interrupted or called the kernel, all further ones are
 * return addresses. */
void
lu_merge_user_chain (const LuSample *sample, LuStack *stack)
{
  int in_user = sample->cpumode == CPUMODE_USER;
  uint32_t n_frames = 0;

  for (uint32_t i = 0; i < sample->n_callchain; i++)
    {
      uint64_t word = sample->callchain[i];

      if (word >= CONTEXT_MAX)
        {
          in_user = word == CONTEXT_USER;
          continue;
        }
      if (!in_user)
        continue;
      if (!lu_stack_push (stack, word, n_frames > 0 ? LU_FRAME_RETURN_ADDRESS : 0))
        return;
      if (n_frames++ == 0 && sample->n_branches > 0)
        break;
    }
  if (n_frames == 0 && sample->cpumode == CPUMODE_USER && sample->ip < CONTEXT_MAX)
    n_frames += (uint32_t) lu_stack_push (stack, sample->ip, 0);
  if (n_frames > 0)
    push_branches (sample, stack);
}
