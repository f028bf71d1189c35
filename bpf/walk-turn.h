/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-turn.h - one turn of a walk after the other; all of a walk between its begin and its end. */

#pragma once

#include "walk-guess.h"
#include "walk-look.h"
#include "walk-plain.h"
#include "walk-rare.h"

/* Turns are made in one loop of the kernel's, or, where it has none, in three, one in the other,
 * since the verifier follows each turn of a loop by itself. */
#define FEW_TURNS    2
#define ROUND_TURNS  128
#define BUDGET_TURNS 8 /* between two looks at the clock */
/* Each frame takes three turns at most: for its mapping, its rule, and itself. One round more for a
 * walk that is made again. */
#define ROUNDS(max_frames) ((max_frames) *3 / ROUND_TURNS + 2)

/* Begins at walk->regs, behind the kernel's pcs, in walk->process. */
HOST_TURN int64_t
begin_walk (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint32_t max = host_config.max_frames;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  walk->pc = walk->regs[REG_PC];
  walk->sp = walk->regs[REG_SP];
  walk->fp = walk->regs[REG_FP];
  walk->bx = walk->regs[REG_BX];
  walk->bx_at = 0;
  walk->mark = 0;
  walk->ucontext = 0;
  walk->known = LU_KNOWN_FP | LU_KNOWN_BX;
  walk->frame_kind = LU_FRAME_KIND_SAMPLED;
  walk->place.size = walk->place.plain_size = 0;
  walk->before.size = walk->before.plain_size = 0;
  walk->at = walk->n_kernel;
  walk->limit = walk->n_kernel + (max < LU_BPF_MAX_FRAMES ? max : LU_BPF_MAX_FRAMES);
  walk->n_turns = walk->n_missed = walk->n_guessed = walk->n_rules = 0;
  walk->last_fp = 0;
  walk->failed_ea = 0;
  walk->vma_marks = 0;
  return TURN_ON;
}

static inline int
is_over_budget (struct walk *walk)
{
  return host_config.budget_ns != 0 && ++walk->n_turns % BUDGET_TURNS == 0
         && host_clock () - walk->start_ns > host_config.budget_ns;
}

/* One turn, and those that it asks for. */
static inline int64_t
make_turn (walk_ref ref, struct walk *walk)
{
  int64_t result = walk_plain (ref);

  if (result == TURN_MAPPING)
    result = walk_mapping (ref);
  else if (result == TURN_RULE)
    result = walk_rule (ref);
  if (result == TURN_RARE)
    result = walk_rare (ref);
  if (result == TURN_GUESS)
    result = walk_guess (ref);
  return result == TURN_ON && is_over_budget (walk) ? GIVE_UP (BUDGET) : result;
}

/* One of some results, without a branch for each. */
static inline int
is_one_of (int64_t result, uint64_t results)
{
  return (results >> (result & 63) & 1) != 0;
}

static inline int
can_go_by_vmas (int64_t result)
{
  return (HOST_FLAGS & LU_BPF_VMAS) != 0
         && is_one_of (result, 1ull << GIVE_UP (NO_PROCESS) | 1ull << GIVE_UP (STALE_PROCESS)
                                   | 1ull << GIVE_UP (NO_MAPPING));
}

/* What is published is not enough: begins again, by the kernel's own mappings. Where nothing is
 * known of the files either, the walk ends as if it had not. */
HOST_TURN int64_t
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
  return begin_walk (ref);
}

/* Where it goes on after a turn with this result if what is published was not enough. */
static inline int64_t
go_on (walk_ref ref, int64_t result)
{
  return result > TURN_GIVE_UP ? go_by_vmas (ref, result) : result;
}

#ifdef HOST_LOOP
/* 1: no more. What it leads to is left in the walk, where the verifier does not follow it. */
static long
make_some (uint64_t i, walk_ref *ref)
{
  struct walk *walk = host_walk (*ref);

  walk->result = go_on (*ref, make_turn (*ref, walk));
  return (long) negative_bit (TURN_ON - (uint64_t) walk->result);
}

static inline int64_t
make_rounds (struct walk *walk, walk_ref ref, uint32_t rounds)
{
  walk->result = TURN_ON;
  HOST_LOOP (rounds * ROUND_TURNS, make_some, &ref);
  return walk->result;
}
#else
HOST_TURN int64_t
walk_turns (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  int64_t result = TURN_ON;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  for (int64_t i = 0; i < FEW_TURNS && result == TURN_ON; i++)
    result = make_turn (ref, walk);
  return result;
}

HOST_TURN int64_t
walk_round (walk_ref ref)
{
  int64_t result = TURN_ON;

  for (int64_t i = 0; i < ROUND_TURNS / FEW_TURNS && result == TURN_ON; i++)
    result = go_on (ref, walk_turns (ref));
  return result;
}

static inline int64_t
make_rounds (struct walk *walk, walk_ref ref, uint32_t rounds)
{
  int64_t result = TURN_ON;

  for (uint64_t i = 0; i < rounds && result == TURN_ON; i++)
    result = walk_round (ref);
  return result;
}
#endif

/* The walk from where begin_walk() has put it: ENDED, DEPTH, or a reason. */
static inline int64_t
make_walk (struct walk *walk, walk_ref ref)
{
  uint64_t max = host_config.max_frames, rounds = ROUNDS (LU_BPF_MAX_FRAMES);
  int64_t result;

  if (max < LU_BPF_MAX_FRAMES)
    rounds = ROUNDS (max);
  result = make_rounds (walk, ref, (uint32_t) rounds);
  return result != TURN_ON ? result : GIVE_UP (BUDGET);
}
