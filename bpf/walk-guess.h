/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-guess.h - the turn for code without unwind information: the caller by frame pointer, if all
 * that can be checked agrees.
 *
 * The rule is that of src/unwind/guess.c, step by step, and its comments hold here: what is said
 * there not to be believed, or not to be known yet, falls back here. Where the engines look whether
 * a call stands in front of a return address, this reads the code. */

#pragma once

#include "calls.h"
#include "host.h"
#include "walk-look.h"
#include "walk-rare.h"

/* As in guess.c. */
#define MAX_DISTANCE (1u << 20)
#define MIN_ADDRESS  4096
#define MAX_WORDS    256
#define MAX_RULES    1024
#define LEAF_WORDS   3

/* Words for one call of a function: the verifier follows each turn of a loop by itself. */
#define WORDS_AT_ONCE 16

#define NOTES_PER_EPOCH 4096

#define SLOT_MASK        15
#define SLOT_WITH_ENDBR  10
#define SLOT_PLAIN       6
#define TRAMPOLINE_FRAME 8

enum verdict
{
  VERDICT_NONE, /* nothing that could be believed */
  VERDICT_FOUND,
  VERDICT_UNKNOWN,
  VERDICT_MORE, /* nothing so far; the last one */
};

enum place_rule
{
  PLACE_RULE_NONE,
  PLACE_RULE_BY_FP, /* the CFA is just above the saved frame pointer */
  PLACE_RULE_OTHER,
  PLACE_RULE_UNKNOWN,
};

/* Sets walk->seen to the mapping of the address; 0: there is none. */
HOST_TURN int64_t
see_mapping (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);

  if (walk == NULL)
    return 0;
  if (address - walk->seen.start < walk->seen.size)
    return 1;
  if (address - walk->place.start < walk->place.size)
    walk->seen = walk->place;
  else if (address - walk->before.start < walk->before.size)
    walk->seen = walk->before;
  else if (find_place (ref, address) == 0)
    walk->seen = walk->found;
  else
    return 0;
  return 1;
}

/* What the table of walk->seen says of the address. */
HOST_TURN int64_t
see_rule (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  const struct lu_rule *rule;
  uint32_t slot;
  int64_t id;

  if (walk == NULL || walk->n_rules++ >= MAX_RULES)
    return PLACE_RULE_UNKNOWN;
  slot = walk->seen.module;
  id = look_up_rule (slot, address - walk->seen.bias);
  if (id < 0)
    {
      note_use (slot, LU_BPF_WANTED);
      return PLACE_RULE_UNKNOWN;
    }
  HOST_BOUND (id, LU_BPF_MAX_RULES - 1);
  rule = &host_shared->rules[id];
  HOST_NEAR (rule);
  if (rule->cfa_kind == LU_CFA_NONE)
    return PLACE_RULE_NONE;
  return rule->cfa_kind == LU_CFA_FP && rule->cfa_off == 16 ? PLACE_RULE_BY_FP : PLACE_RULE_OTHER;
}

/* What is in front of a return address into walk->seen, which is a file's. */
HOST_TURN int64_t
see_call (walk_ref ref, uint64_t pc)
{
  struct walk *walk = host_walk (ref);

  return walk != NULL ? (int64_t) host_call_before (walk, pc) : CALL_UNKNOWN;
}

HOST_TURN int64_t
is_frame_pointer (walk_ref ref, uint64_t fp, uint64_t sp)
{
  const struct walk *walk = host_walk (ref);

  return walk != NULL && (fp & 7) == 0 && fp >= sp && fp > walk->last_fp
         && fp - walk->regs[REG_SP] < MAX_DISTANCE;
}

/* Where a return address may lead to, to be believed. */
enum wanted
{
  WANTED_ANY,
  WANTED_BY_FP, /* no code that is known to use the frame pointer for something else */
  WANTED_OWNER, /* ordinary code that keeps frame pointers, and has called this one */
};

/* FOUND if this can be a return address: there is code, and a call in front of it; or generated
 * code, whose frame pointer has to go on. */
HOST_TURN int64_t
check_return (walk_ref ref, uint64_t pc, uint64_t fp, uint64_t sp, uint32_t wanted)
{
  struct walk *walk = host_walk (ref);
  int64_t call, rule;

  if (walk == NULL)
    return VERDICT_UNKNOWN;
  if (pc <= MIN_ADDRESS || !see_mapping (ref, pc - 1)
      || (wanted == WANTED_OWNER && walk->seen.kind != LU_BPF_MAPPING_TABLE))
    return VERDICT_NONE;
  if (walk->seen.kind == LU_BPF_MAPPING_OPAQUE)
    return VERDICT_UNKNOWN;
  if (walk->seen.kind == LU_BPF_MAPPING_JIT)
    return is_frame_pointer (ref, fp, sp) ? VERDICT_FOUND : VERDICT_NONE;
  if (wanted != WANTED_ANY && walk->seen.kind == LU_BPF_MAPPING_TABLE)
    {
      rule = see_rule (ref, pc - 1);
      if (rule == PLACE_RULE_UNKNOWN)
        return VERDICT_UNKNOWN;
      if (rule == PLACE_RULE_OTHER || (wanted == WANTED_OWNER && rule != PLACE_RULE_BY_FP))
        return VERDICT_NONE;
    }
  call = see_call (ref, pc);
  if (call == CALL_UNKNOWN)
    return VERDICT_UNKNOWN;
  if (wanted == WANTED_OWNER && call == CALL_DIRECT && walk->seen.module != walk->place.module)
    return VERDICT_NONE;
  return call == CALL_NONE ? VERDICT_NONE : VERDICT_FOUND;
}

/* The next word in [walk->word_at, walk->fp): could it be the return address into code whose frame
 * pointer that is? MORE if not, and there may be further ones. */
static inline int64_t
see_word (walk_ref ref, struct walk *walk, uint32_t wanted)
{
  int64_t verdict;
  uint64_t value;

  if (walk->word_at >= walk->fp)
    return VERDICT_NONE;
  if (host_read (&value, sizeof value, walk->word_at) != 0)
    return VERDICT_UNKNOWN;
  verdict = check_return (ref, value, walk->fp, walk->word_at, wanted);
  walk->word_at += sizeof value;
  return verdict == VERDICT_NONE ? VERDICT_MORE : verdict;
}

#ifdef HOST_LOOP
struct seeing
{
  walk_ref ref;
  uint64_t wanted;
};

/* 1: no more. The verdict is left in the walk, where the verifier does not follow it. */
static long
see_one (uint64_t i, struct seeing *seeing)
{
  struct walk *walk = host_walk (seeing->ref);

  walk->result = see_word (seeing->ref, walk, (uint32_t) seeing->wanted);
  return (long) negative_bit ((uint64_t) walk->result - VERDICT_MORE);
}

static inline int64_t
see_all (walk_ref ref, struct walk *walk, uint32_t wanted)
{
  struct seeing seeing = { .ref = ref, .wanted = wanted };

  walk->result = VERDICT_MORE;
  HOST_LOOP (MAX_WORDS, see_one, &seeing);
  return walk->result;
}
#else
HOST_TURN int64_t
see_words (walk_ref ref, uint32_t wanted)
{
  struct walk *walk = host_walk (ref);
  int64_t verdict = VERDICT_MORE;

  if (walk == NULL)
    return VERDICT_UNKNOWN;
  for (uint64_t i = 0; i < WORDS_AT_ONCE && verdict == VERDICT_MORE; i++)
    verdict = see_word (ref, walk, wanted);
  return verdict;
}

static inline int64_t
see_all (walk_ref ref, struct walk *walk, uint32_t wanted)
{
  int64_t verdict = VERDICT_MORE;

  for (uint64_t i = 0; i < MAX_WORDS / WORDS_AT_ONCE && verdict == VERDICT_MORE; i++)
    verdict = see_words (ref, wanted);
  return verdict;
}
#endif

/* The same of all words from there on that are looked at. */
static inline int64_t
find_word (walk_ref ref, struct walk *walk, uint64_t from, uint32_t wanted)
{
  int64_t verdict;

  walk->word_at = from;
  verdict = see_all (ref, walk, wanted);
  return verdict == VERDICT_MORE ? VERDICT_NONE : verdict;
}

/* FOUND: the frame pointer may be that of ordinary code that has called this one. */
static inline int64_t
find_other_owner (walk_ref ref, struct walk *walk, uint64_t caller_pc)
{
  int64_t rule;

  if (!see_mapping (ref, caller_pc - 1))
    return VERDICT_UNKNOWN;
  if (walk->seen.kind != LU_BPF_MAPPING_TABLE)
    return VERDICT_NONE;
  rule = see_rule (ref, caller_pc - 1);
  if (rule == PLACE_RULE_UNKNOWN)
    return VERDICT_UNKNOWN;
  if (rule == PLACE_RULE_NONE)
    return VERDICT_NONE;
  return find_word (ref, walk, walk->sp, WANTED_OWNER);
}

/* What stands for the place of the frame in the list of those that are set up. */
static inline uint64_t
set_up_key (const struct walk *walk)
{
  return (walk->pc ^ walk->record.serial << 47) * 0x9e3779b97f4a7c15ull
         ^ walk->remembered.n_set_up / NOTES_PER_EPOCH;
}

static inline int
is_known_set_up (const struct walk *walk)
{
  uint64_t key = set_up_key (walk);

  return walk->remembered.set_up[key >> (64 - SET_UP_BITS)] == key;
}

HOST_TURN int64_t
note_set_up (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t key;

  if (walk == NULL)
    return 0;
  key = set_up_key (walk);
  walk->remembered.set_up[key >> (64 - SET_UP_BITS)] = key;
  walk->remembered.n_set_up++;
  return 0;
}

/* Where code goes on that does so behind what is looked at. */
enum
{
  CODE_IS_BARE = LU_LEAF_BYTES + LU_LEAF_BARE,
  CODE_UNKNOWN,
};

/* Behind the instruction at this place of walk->code; what is no place in it stays. */
HOST_TURN uint64_t
step_to_bare (walk_ref ref, uint64_t at)
{
  const struct walk *walk = host_walk (ref);
  uint64_t index = at, size;

  if (walk == NULL || at > LU_LEAF_BYTES - LU_LEAF_WINDOW)
    return at < CODE_IS_BARE ? CODE_UNKNOWN : at;
  HOST_BOUND (index, sizeof walk->code - 1);
  size = lu_leaf_step (*(const uint64_t *) (walk->code + index));
  if (size == LU_LEAF_BARE)
    return CODE_IS_BARE;
  return size != 0 ? at + size : CODE_UNKNOWN;
}

/* Several words could be the return address. FOUND: it is on top; NONE: the frame is set up. */
HOST_TURN int64_t
decide_by_code (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t at = 0;

  if (walk == NULL)
    return VERDICT_UNKNOWN;
  if (is_known_set_up (walk))
    return VERDICT_NONE;
  if (walk->place.kind == LU_BPF_MAPPING_JIT
      || walk->place.start + walk->place.size - walk->pc < LU_LEAF_BYTES
      || host_read_code (walk->code, LU_LEAF_BYTES, walk->pc) != 0)
    return VERDICT_UNKNOWN;
  for (uint64_t i = 0; i < LU_LEAF_STEPS; i++)
    at = step_to_bare (ref, at);
  return at == CODE_IS_BARE ? VERDICT_FOUND : VERDICT_UNKNOWN;
}

/* What these find goes to walk->caller. They are no functions for the verifier: it allows eight
 * calls in each other. The frame is not set up yet, or not any more, but its caller's is. NONE: it
 * is set up. */
static inline int64_t
go_by_top (walk_ref ref, struct walk *walk)
{
  uint64_t top[2];
  int64_t verdict;

  if (host_read (top, sizeof top, walk->sp) != 0)
    return VERDICT_UNKNOWN;
  walk->caller.fp = walk->fp;
  if (top[0] == walk->fp && top[0] > MIN_ADDRESS)
    {
      walk->caller.pc = top[1];
      walk->caller.sp = walk->sp + 16;
      return check_return (ref, top[1], walk->fp, walk->sp + 16, WANTED_ANY);
    }
  walk->caller.pc = top[0];
  walk->caller.sp = walk->sp + 8;
  if (!is_frame_pointer (ref, walk->fp, walk->sp + 8))
    return VERDICT_NONE;
  verdict = check_return (ref, top[0], walk->fp, walk->sp + 8, WANTED_BY_FP);
  if (verdict != VERDICT_FOUND)
    return verdict;
  /* Among several the topmost need not be the one; all may be left from calls that are over. */
  verdict = find_word (ref, walk, walk->sp + 8, WANTED_BY_FP);
  if (verdict == VERDICT_FOUND)
    return decide_by_code (ref);
  return verdict == VERDICT_NONE ? VERDICT_FOUND : VERDICT_UNKNOWN;
}

/* The frame is set up: the caller's frame pointer and the return address are where it points. */
static inline int64_t
go_by_frame_pointer (walk_ref ref, struct walk *walk)
{
  uint64_t pair[2];
  int64_t verdict;

  if (!is_frame_pointer (ref, walk->fp, walk->sp))
    return VERDICT_NONE;
  if (host_read (pair, sizeof pair, walk->fp) != 0)
    return VERDICT_UNKNOWN;
  /* Nobody keeps a return address in that register: these are other words. */
  if (pair[0] - walk->regs[REG_SP] >= MAX_DISTANCE && pair[0] > MIN_ADDRESS
      && see_mapping (ref, pair[0] - 1) && walk->seen.kind != LU_BPF_MAPPING_JIT)
    return VERDICT_UNKNOWN;
  walk->caller.fp = pair[0];
  walk->caller.pc = pair[1];
  walk->caller.sp = walk->fp + 16;
  verdict = check_return (ref, pair[1], pair[0], walk->fp + 16, WANTED_ANY);
  if (verdict != VERDICT_FOUND)
    return verdict;
  if (find_other_owner (ref, walk, pair[1]) != VERDICT_NONE)
    return VERDICT_UNKNOWN;
  walk->last_fp = walk->fp;
  return VERDICT_FOUND;
}

/* What may be a trampoline of Python was called through a pointer by code with unwind information.
 */
static inline int64_t
go_by_trampoline (walk_ref ref, struct walk *walk)
{
  uint64_t address;
  int64_t rule;

  if (walk->place.kind != LU_BPF_MAPPING_JIT
      || ((walk->pc & SLOT_MASK) != SLOT_WITH_ENDBR && (walk->pc & SLOT_MASK) != SLOT_PLAIN)
      || host_read (&address, sizeof address, walk->sp + TRAMPOLINE_FRAME) != 0
      || address <= MIN_ADDRESS || !see_mapping (ref, address - 1)
      || walk->seen.kind != LU_BPF_MAPPING_TABLE)
    return VERDICT_UNKNOWN;
  rule = see_rule (ref, address - 1);
  if (rule == PLACE_RULE_NONE || rule == PLACE_RULE_UNKNOWN
      || see_call (ref, address) != CALL_INDIRECT)
    return VERDICT_UNKNOWN;
  walk->caller.pc = address;
  walk->caller.sp = walk->sp + TRAMPOLINE_FRAME + 8;
  walk->caller.fp = walk->fp;
  return VERDICT_FOUND;
}

/* Whether code with unwind information may have made the call that has left this word. */
HOST_TURN int64_t
may_be_caller (walk_ref ref, uint64_t word)
{
  const struct walk *walk = host_walk (ref);
  int64_t rule;

  if (walk == NULL)
    return 1;
  if (!see_mapping (ref, word - 1) || walk->seen.kind != LU_BPF_MAPPING_TABLE)
    return 0;
  rule = see_rule (ref, word - 1);
  return rule == PLACE_RULE_UNKNOWN
         || (rule == PLACE_RULE_OTHER && see_call (ref, word) != CALL_NONE);
}

/* FOUND: code with unwind information may have called this leaf of a file; then the engines look
 * for its caller in more ways. */
static inline int64_t
find_caller_on_top (walk_ref ref, const struct walk *walk)
{
  uint64_t words[LEAF_WORDS];

  if (host_read (words, sizeof words, walk->sp) != 0)
    return VERDICT_UNKNOWN;
  for (uint64_t i = 0; i < LEAF_WORDS; i = lu_step_settle (i + 1))
    if (may_be_caller (ref, words[i]))
      return VERDICT_FOUND;
  return VERDICT_NONE;
}

/* Whether the file is entered by the code of this place, and says nothing of it: the outermost
 * frame. */
static inline int64_t
is_bare_entry (struct walk *walk, uint64_t lookup)
{
  uint32_t slot = walk->place.module;

  HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
  return is_entry (walk, lookup)
         && look_up_rule (slot, host_shared->modules[slot].entry) == LU_RULE_NONE;
}

HOST_TURN int64_t
walk_guess (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  int64_t verdict = VERDICT_NONE;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  if (walk->place.kind == LU_BPF_MAPPING_TABLE)
    {
      if (is_bare_entry (walk, walk_lookup (walk)))
        return push_frame (walk) ? TURN_ENDED : TURN_DEPTH;
      if (walk->by_vmas != 0)
        return GIVE_UP (NO_RULE);
      walk->seen.size = 0;
      if (walk->at == walk->n_kernel
          && ((walk->record.flags & LU_BPF_RECORD_KERNEL) != 0
              || find_caller_on_top (ref, walk) != VERDICT_NONE))
        return GIVE_UP (NO_RULE);
    }
  if ((walk->process.flags & LU_BPF_PROCESS_PENDING) != 0)
    return GIVE_UP (GUESS);
  if ((fetch_saved (ref) & LU_KNOWN_FP) == 0)
    return GIVE_UP (GUESS);
  walk->seen.size = 0;
  if (walk->frame_kind != LU_FRAME_KIND_CALLER)
    verdict = go_by_top (ref, walk);
  if (verdict == VERDICT_NONE)
    {
      verdict = go_by_frame_pointer (ref, walk);
      if (verdict == VERDICT_FOUND && walk->frame_kind != LU_FRAME_KIND_CALLER)
        note_set_up (ref);
    }
  if (verdict == VERDICT_NONE && walk->frame_kind == LU_FRAME_KIND_CALLER)
    verdict = go_by_trampoline (ref, walk);
  if (verdict != VERDICT_FOUND)
    return GIVE_UP (GUESS);
  if (!push_frame (walk))
    return TURN_DEPTH;
  walk->n_guessed++;
  walk->pc = walk->caller.pc;
  walk->sp = walk->caller.sp;
  walk->fp = walk->caller.fp;
  walk->ucontext = 0;
  walk->known = LU_KNOWN_FP;
  walk->frame_kind = LU_FRAME_KIND_CALLER;
  walk->mark = LU_BPF_PC_RETURN | LU_BPF_PC_GUESSED;
  return TURN_ON;
}
