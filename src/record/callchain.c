/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* callchain.c - picks frames out of a callchain; see callchain.h.
 *
 * A callchain is a list of addresses with context words in between: the values from -4095 upward,
 * the last page of the address space, are never addresses (enum perf_callchain_context,
 * perf_event.h). The words come from the kernel or from a file and may be in any order. Addresses
 * after an unknown context word are dropped. */

#include "callchain.h"

#include <linux/perf_event.h>

/* struct perf_branch_entry: from, to, flags */
#define BRANCH_WORDS 3

/* Returns the flag of the frames that follow a context word; 0: they are dropped. The word of a
 * deferred user chain (-640) is followed by a cookie, which is dropped like the addresses of a user
 * chain.
 */
static uint32_t
context_flag (uint64_t word)
{
  switch (word)
    {
    case PERF_CONTEXT_KERNEL:
      return LU_FRAME_KERNEL;
    case PERF_CONTEXT_HV:
      return LU_FRAME_HYPERVISOR;
    case PERF_CONTEXT_GUEST_KERNEL:
      return LU_FRAME_GUEST_KERNEL;
    case PERF_CONTEXT_GUEST_USER:
      return LU_FRAME_GUEST_USER;
    default:
      return 0;
    }
}

/* Returns the flag of frames before any context word, by the mode that the CPU was in. */
static uint32_t
cpumode_flag (uint8_t cpumode)
{
  switch (cpumode)
    {
    case PERF_RECORD_MISC_KERNEL:
      return LU_FRAME_KERNEL;
    case PERF_RECORD_MISC_HYPERVISOR:
      return LU_FRAME_HYPERVISOR;
    case PERF_RECORD_MISC_GUEST_KERNEL:
      return LU_FRAME_GUEST_KERNEL;
    case PERF_RECORD_MISC_GUEST_USER:
      return LU_FRAME_GUEST_USER;
    default:
      return 0;
    }
}

uint32_t
lu_callchain_kernel_frames (const LuSample *sample, LuFrame frames[LU_CALLCHAIN_MAX_KERNEL_FRAMES])
{
  uint32_t flag = cpumode_flag (sample->cpumode);
  uint32_t n_frames = 0;

  for (uint32_t i = 0; i < sample->n_callchain && n_frames < LU_CALLCHAIN_MAX_KERNEL_FRAMES; i++)
    {
      uint64_t word = sample->callchain[i];

      if (word >= PERF_CONTEXT_MAX)
        flag = context_flag (word);
      else if (flag != 0)
        frames[n_frames++] = (LuFrame){ .pc = word, .flags = flag };
    }

  flag = cpumode_flag (sample->cpumode);
  if (n_frames == 0 && flag != 0 && sample->ip < PERF_CONTEXT_MAX)
    frames[n_frames++] = (LuFrame){ .pc = sample->ip, .flags = flag };
  return n_frames;
}

/* Appends the call instructions of branch records, leaf first. */
static void
push_branches (const LuSample *sample, LuStack *stack)
{
  for (uint32_t i = 0; i < sample->n_branches; i++)
    {
      uint64_t from = sample->branches[i * BRANCH_WORDS];

      if (from == 0 || from >= PERF_CONTEXT_MAX || !lu_stack_push (stack, from, 0))
        return;
    }
}

/* The first address is where user mode was interrupted or called the kernel, all further ones are
 * return addresses. */
void
lu_callchain_user_frames (const LuSample *sample, LuStack *stack)
{
  int in_user = sample->cpumode == PERF_RECORD_MISC_USER;
  uint32_t n_frames = 0;

  for (uint32_t i = 0; i < sample->n_callchain; i++)
    {
      uint64_t word = sample->callchain[i];

      if (word >= PERF_CONTEXT_MAX)
        {
          in_user = word == PERF_CONTEXT_USER;
          continue;
        }
      if (!in_user)
        continue;
      if (!lu_stack_push (stack, word, n_frames > 0 ? LU_FRAME_RETURN_ADDRESS : 0))
        return;
      if (n_frames++ == 0 && sample->n_branches > 0)
        break;
    }
  if (n_frames == 0 && sample->cpumode == PERF_RECORD_MISC_USER && sample->ip < PERF_CONTEXT_MAX)
    n_frames += (uint32_t) lu_stack_push (stack, sample->ip, 0);
  if (n_frames > 0)
    push_branches (sample, stack);
}
