/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-frame-pointer.h - the subprogram for code without unwind information: steps by frame
 * pointer.
 *
 * It follows src/unwind/frame-pointer-step.c and python-trampoline.c step by step, and their
 * comments hold here. If they would not believe a caller, or do not know yet, the walk falls back.
 * The engines look up whether there is a call before a return address; this subprogram reads the
 * code. */

#pragma once

#include "walk-see.h"
#if ARCH_HAS_LINK
#include "walk-link.h"
#else
#include "walk-words.h"
#endif

/* Steps from a frame that is set up: the frame pointer points to the caller's frame pointer and the
 * return address. */
static inline int64_t
go_by_frame_pointer (walk_ref ref, struct walk *walk)
{
  uint64_t pair[2];
  int64_t verdict;

  if (!is_frame_pointer (ref, walk->fp, walk->sp))
    return VERDICT_NONE;
  if (host_read (pair, sizeof pair, walk->fp) != 0)
    return VERDICT_UNKNOWN;
  /* No code keeps a return address in that register, so these words are something else. */
  if (pair[0] - walk->regs[REG_SP] >= LU_FP_MAX_DISTANCE && pair[0] > LU_FP_MIN_ADDRESS
      && see_mapping (ref, pair[0] - 1) && walk->seen.kind != LU_BPF_MAPPING_JIT)
    return VERDICT_UNKNOWN;
  walk->caller.fp = pair[0];
  walk->caller.pc = ARCH_ADDRESS (pair[1]);
  walk->caller.sp = walk->fp + 16;
  verdict = check_return (ref, walk->caller.pc, pair[0], walk->fp + 16, WANTED_ANY);
  if (verdict != VERDICT_FOUND)
    return verdict;
  verdict = check_owner_of_frame (ref, walk);
  if (verdict != VERDICT_NONE)
    return verdict == VERDICT_FOUND ? VERDICT_NONE : verdict;
  walk->last_fp = walk->fp;
  return VERDICT_FOUND;
}

/* Returns whether the address is the entry of the file and has no rule: the outermost frame. */
static inline int64_t
is_bare_entry (struct walk *walk, uint64_t lookup)
{
  uint32_t slot = walk->place.module;

  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  return is_entry (walk, lookup)
         && look_up_rule (slot, host_shared->modules[slot].entry) == LU_RULE_NONE;
}

/* Returns whether stacks made by hand begin at this return address. */
HOST_SUBPROGRAM int64_t
is_root (walk_ref ref)
{
  const struct walk *walk = host_walk (ref);
  uint64_t code[LU_ROOT_BYTES / 8];

  return walk != NULL && walk->frame_kind == LU_FRAME_KIND_CALLER
         && host_read_code (code, sizeof code, walk->pc) == 0 && lu_root_is (code);
}

HOST_SUBPROGRAM int64_t
walk_fp_step (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  int64_t verdict = VERDICT_NONE;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  if (walk->place.kind == LU_BPF_MAPPING_TABLE)
    {
      if (is_bare_entry (walk, walk_lookup (walk)) || is_root (ref))
        return push_frame (walk) ? NEXT_ENDED : NEXT_DEPTH;
      if (walk->by_vmas != 0)
        return GIVE_UP (NO_RULE);
      walk->seen.size = 0;
      if (walk->at == walk->n_kernel
          && ((walk->record.flags & LU_BPF_RECORD_KERNEL) != 0
              || find_caller_on_top (ref, walk) != VERDICT_NONE))
        return GIVE_UP (NO_RULE);
    }
  if ((walk->process.flags & LU_BPF_PROCESS_PENDING) != 0)
    return GIVE_UP (NO_FRAME_POINTER);
  if ((fetch_saved (ref) & LU_KNOWN_FP) == 0)
    return GIVE_UP (NO_FRAME_POINTER);
  walk->seen.size = 0;
  if (walk->frame_kind != LU_FRAME_KIND_CALLER)
    verdict = go_from_leaf (ref, walk);
  if (verdict == VERDICT_NONE)
    verdict = go_by_frame_pointer (ref, walk);
  if (verdict == VERDICT_NONE && walk->frame_kind == LU_FRAME_KIND_CALLER)
    verdict = go_by_trampoline (ref, walk);
  if (verdict != VERDICT_FOUND)
    return GIVE_UP (NO_FRAME_POINTER);
  if (!push_frame (walk))
    return NEXT_DEPTH;
  walk->n_inferred++;
  walk->pc = walk->caller.pc;
  walk->sp = walk->caller.sp;
  walk->fp = walk->caller.fp;
  walk->ucontext = 0;
  walk->known = LU_KNOWN_FP | (ARCH_HAS_LINK ? LU_LOST_SP : 0);
  walk->frame_kind = LU_FRAME_KIND_CALLER;
  walk->mark = LU_BPF_PC_RETURN | LU_BPF_PC_INFERRED;
  return NEXT_ON;
}
