/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-subprogram.h - runs one subprogram of a walk after the other, from the walk's start to its
 * end. */

#pragma once

#include "walk-frame-pointer.h"
#include "walk-look.h"
#include "walk-compact.h"
#include "walk-rare.h"

/* Subprograms run in three nested loops, because the verifier follows each iteration of a loop
 * separately. */
#define FEW_TURNS   8 /* between two looks at the clock */
#define ROUND_TURNS 128
/* Each frame takes at most two turns: for its mapping and for itself. One round is added for a walk
 * that starts again, or that passes the kernel's probes. */
#define ROUNDS(max_frames) ((max_frames) *2 / ROUND_TURNS + 2)

/* Starts at walk->regs, after the kernel's pcs, in walk->process. */
HOST_SUBPROGRAM int64_t
begin_walk (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint32_t max = host_config.max_frames;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  walk->sp = walk->regs[REG_SP];
  walk->pc = walk->regs[REG_PC];
  walk->fp = walk->regs[REG_FP];
#if ARCH_HAS_LINK
  walk->link = walk->regs[REG_LINK];
  walk->known = LU_KNOWN_FP | LU_KNOWN_LINK;
#else
  walk->bx = walk->regs[REG_BX];
  walk->known = LU_KNOWN_FP | LU_KNOWN_BX;
#endif
  walk->bx_at = 0;
  walk->window.n_words = walk->window.n_pairs = 0;
  walk->last.key = 0;
  walk->mark = 0;
  walk->ucontext = 0;
  walk->frame_kind = LU_FRAME_KIND_SAMPLED;
  walk->place.size = walk->place.rules_size = 0;
  walk->before.size = walk->before.rules_size = 0;
  walk->at = walk->n_kernel;
  walk->limit = walk->n_kernel + (max < LU_BPF_MAX_FRAMES ? max : LU_BPF_MAX_FRAMES);
  walk->n_missed = walk->n_inferred = walk->n_rules = 0;
  walk->last_fp = 0;
  walk->failed_ea = 0;
  walk->vma_marks = 0;
  if ((walk->record.flags & LU_BPF_RECORD_KERNEL) != 0)
    walk->pc = host_sampled_at (ref, walk->pc);
  return NEXT_ON;
}

static inline int
is_over_budget (const struct walk *walk)
{
  return host_config.budget_ns != 0 && host_clock () - walk->start_ns > host_config.budget_ns;
}

/* Runs one subprogram, and those that it requests. */
static inline int64_t
make_turn (const struct walk *walk, walk_ref ref)
{
  int64_t result = walk_compact (ref);

  if (result == NEXT_MAPPING)
    result = walk_mapping (ref);
  else if (result == NEXT_RULE)
    result = walk_rule (ref, walk_lookup (walk));
  if (result == NEXT_RARE)
    result = walk_rare (ref);
  if (result == NEXT_FP_STEP)
    result = walk_fp_step (ref);
  return result;
}

/* Returns whether the result is one of some, without a branch for each. */
static inline int
is_one_of (int64_t result, uint64_t results)
{
  return (results >> (result & 63) & 1) != 0;
}

static inline int
can_go_by_vmas (int64_t result)
{
  return (host_config.flags & LU_BPF_VMAS) != 0
         && is_one_of (result, 1ull << GIVE_UP (NO_PROCESS) | 1ull << GIVE_UP (STALE_PROCESS)
                                   | 1ull << GIVE_UP (NO_MAPPING));
}

/* Starts again with the kernel's own mappings, because the published ones do not suffice. If the
 * files are not known either, the walk ends as if it had not started again. */
HOST_SUBPROGRAM int64_t
go_by_vmas (walk_ref ref, int64_t result)
{
  struct walk *walk = host_walk (ref);

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  if (walk->by_vmas != 0)
    return is_one_of (result, 1ull << GIVE_UP (OPAQUE) | 1ull << GIVE_UP (NO_MAPPING)) ? walk->why
                                                                                       : result;
  if (!can_go_by_vmas (result))
    return result;
  walk->by_vmas = 1;
  walk->why = result;
  walk->process.flags = LU_BPF_PROCESS_PENDING;
  walk->copied.tgid = 0;
  return begin_walk (ref);
}

/* Returns where to continue after a subprogram with this result if the published data did not
 * suffice. */
static inline int64_t
go_on (walk_ref ref, int64_t result)
{
  return result > NEXT_GIVE_UP ? go_by_vmas (ref, result) : result;
}

HOST_SUBPROGRAM int64_t
walk_turns (walk_ref ref)
{
  const struct walk *walk = host_walk (ref);
  int64_t result = NEXT_ON;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  for (int64_t i = 0; i < FEW_TURNS && result == NEXT_ON; i++)
    result = make_turn (walk, ref);
  return result == NEXT_ON && is_over_budget (walk) ? GIVE_UP (BUDGET) : result;
}

HOST_SUBPROGRAM int64_t
walk_round (walk_ref ref)
{
  int64_t result = NEXT_ON;

  for (int64_t i = 0; i < ROUND_TURNS / FEW_TURNS && result == NEXT_ON; i++)
    result = go_on (ref, walk_turns (ref));
  return result;
}

static inline int64_t
make_rounds (struct walk *walk, walk_ref ref, uint32_t rounds)
{
  int64_t result = NEXT_ON;

  for (uint64_t i = 0; i < rounds && result == NEXT_ON; i++)
    result = walk_round (ref);
  return result;
}

/* Runs the walk from where begin_walk() has put it: returns ENDED, DEPTH, or a reason. */
static inline int64_t
make_walk (struct walk *walk, walk_ref ref)
{
  uint64_t max = host_config.max_frames, rounds = ROUNDS (LU_BPF_MAX_FRAMES);
  int64_t result;

  if (max < LU_BPF_MAX_FRAMES)
    rounds = ROUNDS (max);
  result = make_rounds (walk, ref, (uint32_t) rounds);
  return result != NEXT_ON ? result : GIVE_UP (BUDGET);
}
