/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-see.h - what frame-pointer steps look at: the mapping, the rule and the code of an address
 * that may be a return address. */

#pragma once

#include "host.h"
#include "lu/frame-pointer.h"
#include "walk-look.h"
#include "walk-rare.h"

/* Words for one call of a function: the verifier follows each iteration of a loop by itself. */
#define WORDS_AT_ONCE 16

enum verdict
{
  VERDICT_NONE, /* nothing that can be believed */
  VERDICT_FOUND,
  VERDICT_UNKNOWN,
  VERDICT_MORE, /* nothing so far; must be the last enumerator */
};

/* Sets walk->seen to the mapping of the address; returns 0 if there is none. A file whose table is
 * not there is one: its rules are unknown. */
HOST_SUBPROGRAM int64_t
see_mapping (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  int64_t result;

  if (walk == NULL)
    return 0;
  if (address - walk->seen.start < walk->seen.size)
    return 1;
  if (address - walk->place.start < walk->place.size)
    walk->seen = walk->place;
  else if (address - walk->before.start < walk->before.size)
    walk->seen = walk->before;
  else
    {
      result = find_place (ref, address);
      if (result != 0 && result != GIVE_UP (NO_TABLE))
        return 0;
      walk->seen = walk->found;
    }
  return 1;
}

/* Returns what the table of walk->seen says about the address (enum lu_fp_rule). */
HOST_SUBPROGRAM int64_t
see_rule (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  const struct lu_rule *rule;
  uint32_t slot;
  int64_t id;

  if (walk == NULL || walk->n_rules++ >= LU_FP_MAX_RULES)
    return LU_FP_RULE_UNKNOWN;
  slot = walk->seen.module;
  id = look_up_rule (slot, address - walk->seen.bias);
  if (id < 0)
    {
      note_use (slot, LU_BPF_WANTED);
      return LU_FP_RULE_UNKNOWN;
    }
  HOST_BOUND (id, LU_BPF_MAX_RULES - 1);
  rule = &host_shared->dictionary.rules[id];
  HOST_NEAR (rule);
  return lu_fp_rule_of (rule);
}

/* Returns the kind of call before a return address into walk->seen, which is a file. */
HOST_SUBPROGRAM int64_t
see_call (walk_ref ref, uint64_t pc)
{
  struct walk *walk = host_walk (ref);

  return walk != NULL ? (int64_t) host_call_before (walk, pc) : LU_CALL_UNKNOWN;
}

HOST_SUBPROGRAM int64_t
is_frame_pointer (walk_ref ref, uint64_t fp, uint64_t sp)
{
  const struct walk *walk = host_walk (ref);

  return walk != NULL && (fp & 7) == 0
         && lu_fp_is_possible (fp, sp, walk->last_fp, walk->regs[REG_SP]);
}

/* The code that a return address must lead to, to be believed. */
enum wanted
{
  WANTED_ANY,
  WANTED_OWNER, /* code that keeps walk->fp and may have called this frame */
  WANTED_BY_FP, /* not code that is known to use the frame pointer for something else */
  WANTED_JIT,   /* the same, and it may have called generated code */
  WANTED_TOP,   /* the same; whether a call in a file may have called it, user space decides */
  WANTED_ABOVE, /* like WANTED_ANY; user space decides about direct calls in files */
};

/* FOUND: this can be a return address, because there is code with a call before it, or
 * generated code whose frame pointer is possible. */
HOST_SUBPROGRAM int64_t
check_return (walk_ref ref, uint64_t pc, uint64_t fp, uint64_t sp, uint32_t wanted)
{
  struct walk *walk = host_walk (ref);
  int64_t call, rule;

  if (walk == NULL)
    return VERDICT_UNKNOWN;
  if (pc <= LU_FP_MIN_ADDRESS || !see_mapping (ref, pc - 1))
    return VERDICT_NONE;
  if (walk->seen.kind == LU_BPF_MAPPING_OPAQUE)
    return VERDICT_UNKNOWN;
  if (walk->seen.kind == LU_BPF_MAPPING_JIT)
    return is_frame_pointer (ref, fp, sp) ? VERDICT_FOUND : VERDICT_NONE;
  if (wanted != WANTED_ANY && wanted != WANTED_ABOVE && walk->seen.kind == LU_BPF_MAPPING_TABLE)
    {
      rule = see_rule (ref, pc - 1);
      if (rule == LU_FP_RULE_UNKNOWN)
        return VERDICT_UNKNOWN;
      if (rule == LU_FP_RULE_OTHER)
        return VERDICT_NONE;
    }
  call = see_call (ref, pc);
  if (call == LU_CALL_UNKNOWN || (call != LU_CALL_NONE && wanted == WANTED_TOP)
      || (call == LU_CALL_DIRECT && wanted == WANTED_ABOVE))
    return VERDICT_UNKNOWN;
  return call == LU_CALL_NONE || (call == LU_CALL_DIRECT && wanted == WANTED_JIT) ? VERDICT_NONE
                                                                                  : VERDICT_FOUND;
}
