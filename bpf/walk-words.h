/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-words.h - the part of a frame-pointer step for architectures whose calls leave return
 * addresses on the stack: whether a frame is set up, and the caller of one that is not
 * (src/unwind/frame-pointer-step.c). */

#pragma once

#include "walk-see.h"

static inline int
is_in_hotspot (const struct walk *walk)
{
  return (walk->process.flags & LU_BPF_PROCESS_HOTSPOT) != 0;
}

/* Returns whether the return address into walk->seen is behind a direct call that leads near this
 * frame's code, if it is behind a direct call at all. */
static inline int
leads_near (struct walk *walk, uint64_t pc)
{
  int32_t displacement;

  return walk->seen.module == walk->place.module
         && host_read_code (&displacement, sizeof displacement, pc - sizeof displacement) == 0
         && lu_fp_is_near (pc + (uint64_t) (int64_t) displacement, walk->pc);
}

/* Returns whether the frame at walk->fp may be that of generated code of V8. */
static inline int
may_be_v8 (const struct walk *walk)
{
  uint64_t word;

  return host_read (&word, sizeof word, walk->fp - sizeof word) != 0 || lu_fp_v8_may_be (word);
}

/* Returns whether a direct call before the frame's return address, into walk->seen, has led to this
 * code, and the frame is not V8's: then generated code, to which an old word may seem to lead, does
 * not keep walk->fp. */
HOST_SUBPROGRAM int64_t
is_called_here (walk_ref ref, uint64_t pc)
{
  struct walk *walk = host_walk (ref);

  return walk != NULL && walk->place.kind != LU_BPF_MAPPING_JIT
         && walk->seen.kind != LU_BPF_MAPPING_JIT && see_call (ref, pc) == LU_CALL_DIRECT
         && leads_near (walk, pc) && !may_be_v8 (walk);
}

/* Returns whether a return address into generated code, in the last word, may be that of code that
 * keeps walk->fp. */
static inline int
may_own_frame (const struct walk *walk)
{
  uint64_t words[LU_FP_V8_WORDS];

  if (is_in_hotspot (walk))
    return lu_fp_hotspot_is_return (walk->below, walk->fp);
  if (walk->place.kind != LU_BPF_MAPPING_JIT)
    return walk->is_called_here == 0;
  return host_read (words, sizeof words, walk->fp - sizeof words) != 0
         || !lu_fp_v8_is_function (words);
}

/* A word of a leaf in a file leads to code without a rule: if it may be the return address, the
 * leaf is not proved to have a frame. */
static inline void
doubt_leaf (walk_ref ref, struct walk *walk, uint64_t pc)
{
  if (walk->frame_kind != LU_FRAME_KIND_CALLER && walk->place.kind != LU_BPF_MAPPING_JIT
      && see_call (ref, pc) != LU_CALL_NONE)
    walk->is_proved = 0;
}

/* FOUND: this may be a return address into code that keeps walk->fp and has called this frame. */
HOST_SUBPROGRAM int64_t
check_owner (walk_ref ref, uint64_t pc)
{
  struct walk *walk = host_walk (ref);
  int64_t call, rule;

  if (walk == NULL)
    return VERDICT_UNKNOWN;
  if (pc <= LU_FP_MIN_ADDRESS || !see_mapping (ref, pc - 1))
    return VERDICT_NONE;
  if (walk->seen.kind == LU_BPF_MAPPING_JIT)
    {
      walk->is_proved &= walk->is_called_here == 0;
      return may_own_frame (walk) ? VERDICT_FOUND : VERDICT_NONE;
    }
  rule = walk->seen.kind == LU_BPF_MAPPING_TABLE    ? see_rule (ref, pc - 1)
         : walk->seen.kind == LU_BPF_MAPPING_NO_CFI ? LU_FP_RULE_NONE
                                                    : LU_FP_RULE_UNKNOWN;
  if (rule == LU_FP_RULE_NONE)
    doubt_leaf (ref, walk, pc);
  if (rule == LU_FP_RULE_OTHER && walk->frame_kind != LU_FRAME_KIND_CALLER
      && walk->place.kind != LU_BPF_MAPPING_JIT
      && walk->word_at - walk->sp < LU_FP_LEAF_WORDS * sizeof (uint64_t))
    walk->is_proved = 0;
  if (!lu_fp_is_kept ((enum lu_fp_rule) rule))
    return rule == LU_FP_RULE_UNKNOWN ? VERDICT_UNKNOWN : VERDICT_NONE;
  if (walk->has_rule == 0)
    {
      walk->is_proved = 0;
      return VERDICT_NONE;
    }
  call = see_call (ref, pc);
  if (call == LU_CALL_UNKNOWN)
    return VERDICT_UNKNOWN;
  return call == LU_CALL_INDIRECT
                 || (call == LU_CALL_DIRECT && walk->place.kind != LU_BPF_MAPPING_JIT)
             ? VERDICT_FOUND
             : VERDICT_NONE;
}

/* Checks the next word in [walk->word_at, walk->fp). FOUND: it could be the return address into the
 * code that keeps walk->fp. MORE: it is not, and there may be more words. */
static inline int64_t
see_word (walk_ref ref, struct walk *walk, uint32_t wanted)
{
  int64_t verdict;
  uint64_t value;

  if (walk->word_at >= walk->fp)
    return VERDICT_NONE;
  if (read_stack (ref, walk->word_at) != 0)
    return VERDICT_UNKNOWN;
  value = walk->window.word;
  verdict = wanted == WANTED_OWNER ? check_owner (ref, value)
                                   : check_return (ref, value, walk->fp, walk->word_at, wanted);
  walk->word_at += sizeof value;
  walk->below = value;
  return verdict == VERDICT_NONE ? VERDICT_MORE : verdict;
}

HOST_SUBPROGRAM int64_t
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

  for (uint64_t i = 0; i < LU_FP_MAX_WORDS / WORDS_AT_ONCE && verdict == VERDICT_MORE; i++)
    verdict = see_words (ref, wanted);
  return verdict;
}

/* Checks all words from `from` on, up to the limit. */
static inline int64_t
find_word (walk_ref ref, struct walk *walk, uint64_t from, uint32_t wanted)
{
  int64_t verdict;

  walk->word_at = (from + 7) & ~(uint64_t) 7;
  verdict = see_all (ref, walk, wanted);
  return verdict == VERDICT_MORE ? VERDICT_NONE : verdict;
}

/* Returns the place of a code address among code whose frames were seen to be set up. */
static inline uint64_t *
set_up_slot (struct walk *walk, uint64_t key)
{
  uint64_t slot = key >> (64 - LU_FP_SET_UP_BITS);

  HOST_BOUND (slot, (1 << LU_FP_SET_UP_BITS) - 1);
  return &walk->remembered.set_up[slot];
}

static inline uint64_t
set_up_key (const struct walk *walk, uint64_t pc)
{
  return lu_fp_set_up_key (pc, walk->process.serial, walk->remembered.n_set_up);
}

static inline int
is_known_set_up (struct walk *walk, uint64_t pc)
{
  uint64_t key = set_up_key (walk, pc);

  return *set_up_slot (walk, key) == key;
}

static inline void
note_set_up (struct walk *walk, uint64_t pc)
{
  uint64_t key = set_up_key (walk, pc);

  *set_up_slot (walk, key) = key;
  walk->remembered.n_set_up++;
}

/* Returns the place of the process among those whose generated code keeps frame pointers. */
static inline uint64_t *
hotspot_slot (struct walk *walk, uint64_t key)
{
  uint64_t slot = key >> (64 - LU_FP_HOTSPOT_BITS);

  HOST_BOUND (slot, (1 << LU_FP_HOTSPOT_BITS) - 1);
  return &walk->remembered.hotspot[slot];
}

/* Returns whether all generated code of the process keeps frame pointers. */
static inline int
is_known_hotspot (struct walk *walk)
{
  uint64_t key = set_up_key (walk, LU_FP_HOTSPOT_CODE);

  return *hotspot_slot (walk, key) == key;
}

/* Notes that the code at walk->pc has set up its frame. */
HOST_SUBPROGRAM int64_t
note_proof (walk_ref ref)
{
  struct walk *walk = host_walk (ref);

  if (walk != NULL)
    note_set_up (walk, walk->pc);
  return 0;
}

/* Notes that all compiled methods keep frame pointers, if this frame, which is set up, shows that.
 */
HOST_SUBPROGRAM int64_t
learn_hotspot (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t slot, key;

  if (walk == NULL || !is_in_hotspot (walk) || walk->last_fp == 0 || walk->sp != walk->last_fp + 16
      || host_read (&slot, sizeof slot, walk->fp - sizeof slot) != 0
      || lu_fp_hotspot_is_interpreted (slot, walk->fp) || !see_mapping (ref, walk->caller.pc - 1)
      || walk->seen.kind != LU_BPF_MAPPING_JIT)
    return 0;
  key = set_up_key (walk, LU_FP_HOTSPOT_CODE);
  *hotspot_slot (walk, key) = key;
  return 0;
}

/* FOUND: the frame pointer may belong to a caller of this frame. */
static inline int64_t
find_other_owner (walk_ref ref, struct walk *walk, uint64_t caller_pc)
{
  int64_t rule = LU_FP_RULE_NONE, verdict;

  if (!see_mapping (ref, caller_pc - 1))
    return VERDICT_UNKNOWN;
  if (walk->seen.kind == LU_BPF_MAPPING_TABLE)
    rule = see_rule (ref, caller_pc - 1);
  if (rule == LU_FP_RULE_UNKNOWN)
    return VERDICT_UNKNOWN;
  walk->has_rule = rule != LU_FP_RULE_NONE;
  walk->is_called_here = is_called_here (ref, caller_pc) != 0;
  walk->is_proved = walk->fp - walk->sp <= LU_FP_MAX_WORDS * sizeof (uint64_t);
  walk->below = 0;
  verdict = find_word (ref, walk, walk->sp, WANTED_OWNER);
  if (verdict == VERDICT_NONE && walk->is_proved != 0)
    note_proof (ref);
  return verdict;
}

/* NONE: the frame that walk->caller was found by is that of the code at walk->pc. */
static inline int64_t
check_owner_of_frame (walk_ref ref, struct walk *walk)
{
  int64_t verdict;

  if (is_in_hotspot (walk) && walk->place.kind == LU_BPF_MAPPING_JIT && is_known_hotspot (walk))
    return VERDICT_NONE;
  if (!is_known_set_up (walk, walk->pc))
    {
      verdict = find_other_owner (ref, walk, walk->caller.pc);
      if (verdict != VERDICT_NONE || walk->is_proved == 0)
        return verdict;
    }
  learn_hotspot (ref);
  return VERDICT_NONE;
}

/* Returns the state (lu_leaf_next()) after one more instruction of walk->code. */
HOST_SUBPROGRAM uint64_t
step_in_leaf (walk_ref ref, uint64_t state)
{
  const struct walk *walk = host_walk (ref);
  uint64_t index = state & LU_LEAF_AT;

  if (walk == NULL || index > LU_LEAF_BYTES - LU_LEAF_WINDOW)
    return state;
  HOST_BOUND (index, sizeof walk->code - 1);
  return lu_leaf_next (state, *(const uint64_t *) (walk->code + index));
}

/* Reads the leaf's code into walk->code. Returns 0 if it cannot. */
static inline int
read_leaf (struct walk *walk)
{
  return walk->place.start + walk->place.size - walk->pc >= LU_LEAF_BYTES
         && host_read_code (walk->code, LU_LEAF_BYTES, walk->pc) == 0;
}

/* Returns the state of the search (lu_leaf_search()) after the word at `at` of walk->code. */
HOST_SUBPROGRAM uint64_t
search_in_leaf (walk_ref ref, uint64_t state, uint64_t at)
{
  const struct walk *walk = host_walk (ref);
  uint64_t index = at, before = at - 1, word, last;

  if (walk == NULL || at > LU_LEAF_BYTES - sizeof word)
    return 0;
  HOST_BOUND (index, sizeof walk->code - 1);
  HOST_BOUND (before, sizeof walk->code - 1);
  last = at > 0 ? walk->code[before] : 0;
  word = *(const uint64_t *) (walk->code + index);
  for (uint64_t i = 0; i < sizeof word; i++)
    {
      state = lu_leaf_search (state, word & 0xff, last);
      last = word & 0xff;
      word >>= 8;
    }
  return state;
}

/* Returns whether walk->code pushes a register just before it returns. */
static inline int
pushes_register (walk_ref ref)
{
  uint64_t state = 0;

  for (uint64_t at = 0; at < LU_LEAF_BYTES; at += sizeof (uint64_t))
    state = search_in_leaf (ref, state, at);
  return lu_leaf_found (state) != 0;
}

/* Returns what walk->code shows about the leaf's frame: lu_leaf_of() without a register. */
HOST_SUBPROGRAM int64_t
see_leaf_kind (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t state = 0;

  if (walk == NULL)
    return LU_LEAF_UNKNOWN;
  if (lu_leaf_is_pushed (*(const uint64_t *) walk->code))
    return LU_LEAF_PUSHED;
  for (uint64_t i = 0; i < LU_LEAF_STEPS; i++)
    state = step_in_leaf (ref, state);
  return lu_leaf_answer (state);
}

/* The functions up to walk_fp_step() set walk->caller. They are inline, because the verifier allows
 * only eight nested calls. */

static inline int64_t
take_return (walk_ref ref, struct walk *walk, uint64_t pc, uint64_t sp, uint32_t wanted)
{
  walk->caller.fp = walk->fp;
  walk->caller.pc = pc;
  walk->caller.sp = sp;
  return check_return (ref, pc, walk->fp, sp, wanted);
}

/* Steps from a leaf whose frame is not set up yet, or no longer, while its caller's is: the return
 * address is on top. NONE: it is not. MORE: other words could be the return address, too. */
static inline int64_t
go_by_top (walk_ref ref, struct walk *walk, uint64_t top, uint32_t wanted)
{
  int64_t verdict;

  if (!is_frame_pointer (ref, walk->fp, walk->sp + 8))
    return VERDICT_NONE;
  verdict = take_return (ref, walk, top, walk->sp + 8, wanted == WANTED_JIT ? WANTED_TOP : wanted);
  if (verdict != VERDICT_FOUND)
    return verdict;
  /* If there are several, the topmost may be wrong: all may be left from earlier calls. */
  verdict = find_word (ref, walk, walk->sp + 8, wanted);
  return verdict == VERDICT_FOUND  ? VERDICT_MORE
         : verdict == VERDICT_NONE ? VERDICT_FOUND
                                   : VERDICT_UNKNOWN;
}

/* Steps from a leaf that pops `leaf`'s words and then returns. NONE: one of them is the frame
 * pointer that its own leads to, so its frame is set up. */
static inline int64_t
go_by_pops (walk_ref ref, struct walk *walk, uint64_t leaf)
{
  uint64_t at = walk->sp + LU_LEAF_DEPTH_OF (leaf) * 8, pc, fp = walk->fp;
  uint64_t has_saved = LU_LEAF_FP_OF (leaf) != 0, saved = walk->sp + LU_LEAF_FP_OF (leaf) * 8 - 8;

  if (has_saved && saved == walk->fp)
    {
      note_proof (ref);
      return VERDICT_NONE;
    }
  if (host_read (&pc, sizeof pc, at) != 0 || (has_saved && host_read (&fp, sizeof fp, saved) != 0))
    return VERDICT_UNKNOWN;
  walk->caller.pc = pc;
  walk->caller.sp = at + 8;
  walk->caller.fp = fp;
  return check_return (ref, pc, fp, at + 8, WANTED_ANY) == VERDICT_FOUND ? VERDICT_FOUND
                                                                         : VERDICT_UNKNOWN;
}

/* Steps from a leaf in a file. NONE: its frame is set up. MORE: its code does not show that. */
static inline int64_t
go_by_code (walk_ref ref, struct walk *walk, const uint64_t *top)
{
  int64_t verdict, kind;
  int has_code, is_large = walk->fp - walk->sp - LU_FP_MAX_WORDS * 8 - 1 < LU_FP_MAX_DISTANCE;

  if (is_known_set_up (walk, walk->pc))
    return VERDICT_NONE;
  has_code = read_leaf (walk);
  /* It may hold the return address. */
  if (has_code && pushes_register (ref))
    return VERDICT_UNKNOWN;
  verdict = is_frame_pointer (ref, walk->fp, walk->sp)
                ? find_word (ref, walk, walk->sp, WANTED_ANY)
                : check_return (ref, top[0], walk->fp, walk->sp, WANTED_ANY);
  if (verdict != VERDICT_FOUND && (verdict != VERDICT_NONE || !is_large))
    return verdict;
  kind = has_code ? see_leaf_kind (ref) : LU_LEAF_UNKNOWN;
  if (kind == LU_LEAF_UNDECIDED)
    return is_large ? VERDICT_UNKNOWN : VERDICT_MORE;
  if (kind == LU_LEAF_FRAMED)
    {
      note_proof (ref);
      return VERDICT_NONE;
    }
  if (LU_LEAF_KIND (kind) == LU_LEAF_POPPED)
    return go_by_pops (ref, walk, kind);
  if (kind == LU_LEAF_BARE)
    verdict = take_return (ref, walk, top[0], walk->sp + 8, WANTED_ANY);
  else if (kind == LU_LEAF_PUSHED && top[0] == walk->fp)
    verdict = take_return (ref, walk, top[1], walk->sp + 16, WANTED_ANY);
  else
    return VERDICT_UNKNOWN;
  return verdict == VERDICT_FOUND ? VERDICT_FOUND : VERDICT_UNKNOWN;
}

/* Returns whether the call before the return address can have led to this frame. is_top: it is the
 * word on top; one that leads to generated code, which is not read, may be any old one then. */
HOST_SUBPROGRAM int64_t
may_lead_here (walk_ref ref, uint64_t pc, uint32_t is_top)
{
  struct walk *walk = host_walk (ref);

  if (walk == NULL || !see_mapping (ref, pc - 1))
    return 0;
  if (walk->seen.kind == LU_BPF_MAPPING_JIT)
    return is_top == 0 || is_in_hotspot (walk) || may_be_v8 (walk);
  return see_call (ref, pc) == LU_CALL_INDIRECT || leads_near (walk, pc);
}

/* Returns whether the frame at walk->fp may be that of the leaf's caller: it leads, or may lead, to
 * code with unwind information, or to a direct call that does not lead to the leaf. */
static inline int
may_be_callers (walk_ref ref, const struct walk *walk)
{
  uint64_t pc;

  return host_read (&pc, sizeof pc, walk->fp + 8) != 0
         || (see_mapping (ref, pc - 1) && walk->seen.kind == LU_BPF_MAPPING_TABLE
             && see_rule (ref, pc - 1) != LU_FP_RULE_NONE)
         || !may_lead_here (ref, pc, 0);
}

/* Decides by the words alone. */
static inline int64_t
go_by_words (walk_ref ref, struct walk *walk, uint64_t top, int is_jit)
{
  int64_t verdict = go_by_top (ref, walk, top, is_jit ? WANTED_JIT : WANTED_BY_FP);

  if (is_jit)
    return verdict == VERDICT_MORE ? VERDICT_UNKNOWN : verdict;
  if (verdict == VERDICT_NONE && !may_be_callers (ref, walk))
    return VERDICT_NONE;
  return verdict == VERDICT_FOUND && may_lead_here (ref, top, 1) ? VERDICT_FOUND : VERDICT_UNKNOWN;
}

/* Returns whether the word may be an address of generated code. */
static inline int
is_generated (walk_ref ref, const struct walk *walk, uint64_t word)
{
  return word > LU_FP_MIN_ADDRESS && see_mapping (ref, word - 1)
         && walk->seen.kind == LU_BPF_MAPPING_JIT;
}

/* Returns what the code of a compiled method shows (lu_hotspot_leaf_of()). */
static inline int64_t
see_hotspot_leaf (const struct walk *walk)
{
  uint64_t code;

  if (walk->pc == walk->place.start || host_read_code (&code, sizeof code, walk->pc - 1) != 0)
    return LU_LEAF_UNDECIDED;
  return lu_hotspot_leaf_of (code);
}

/* Returns whether the frame pointer may be that of an interpreted method. */
static inline int
may_be_interpreted (const struct walk *walk)
{
  uint64_t slots[2];

  return host_read (slots, sizeof slots, walk->fp - sizeof slots) == 0
         && lu_fp_hotspot_may_call (slots, walk->sp, walk->fp);
}

/* Returns whether a leaf of HotSpot is, or may be, between interpreted and compiled code. The
 * registers of code that a signal has interrupted are not known. */
static inline int
is_between (walk_ref ref, struct walk *walk)
{
  if (walk->sp != walk->regs[REG_SP])
    return !is_known_set_up (walk, walk->pc);
  return lu_fp_hotspot_is_between (walk->sp, walk->fp, walk->regs[REG_HOTSPOT_SENDER])
         || lu_fp_hotspot_is_between (walk->sp, walk->fp, walk->regs[REG_BX])
         || is_generated (ref, walk, walk->regs[REG_HOTSPOT_RETURN]);
}

/* Steps from a leaf of HotSpot's generated code; unlike the engines, it sees that code. */
static inline int64_t
go_from_hotspot (walk_ref ref, struct walk *walk, const uint64_t *top)
{
  int is_entered = lu_fp_hotspot_is_entered (walk->sp);
  int64_t kind;

  if (is_entered && is_generated (ref, walk, top[0])
      && take_return (ref, walk, top[0], walk->sp + 8, WANTED_ANY) == VERDICT_FOUND)
    return may_be_interpreted (walk) ? VERDICT_UNKNOWN : VERDICT_FOUND;
  if (is_between (ref, walk))
    return VERDICT_UNKNOWN;
  if (is_known_set_up (walk, walk->pc))
    return VERDICT_NONE;
  if (is_entered)
    return VERDICT_MORE;
  kind = see_hotspot_leaf (walk);
  if (kind == LU_LEAF_FRAMED)
    return VERDICT_NONE;
  return kind == LU_LEAF_PUSHED && top[0] == walk->fp
                 && take_return (ref, walk, top[1], walk->sp + 16, WANTED_ABOVE) == VERDICT_FOUND
             ? VERDICT_FOUND
             : VERDICT_UNKNOWN;
}

static inline int64_t
go_from_leaf (walk_ref ref, struct walk *walk)
{
  int is_jit = walk->place.kind == LU_BPF_MAPPING_JIT;
  int64_t verdict = VERDICT_MORE;
  uint64_t top[2];

  if (host_read (top, sizeof top, walk->sp) != 0)
    return VERDICT_UNKNOWN;
  if (!is_jit)
    verdict = go_by_code (ref, walk, top);
  else if (is_in_hotspot (walk))
    verdict = go_from_hotspot (ref, walk, top);
  else if (is_known_set_up (walk, walk->pc))
    return VERDICT_NONE;
  else if (top[0] == walk->fp && top[0] > LU_FP_MIN_ADDRESS)
    verdict = take_return (ref, walk, top[1], walk->sp + 16, WANTED_ABOVE);
  HOST_FORGET (walk, verdict);
  return verdict == VERDICT_MORE ? go_by_words (ref, walk, top[0], is_jit) : verdict;
}

/* Steps from a Python trampoline. FOUND: code with unwind information has called it through a
 * pointer. */
static inline int64_t
go_by_trampoline (walk_ref ref, struct walk *walk)
{
  uint64_t address;
  int64_t rule;

  if (walk->place.kind != LU_BPF_MAPPING_JIT
      || !lu_trampoline_is_return (walk->pc, walk->place.start, walk->place.size)
      || host_read (&address, sizeof address, walk->sp + LU_TRAMPOLINE_FRAME) != 0
      || address <= LU_FP_MIN_ADDRESS || !see_mapping (ref, address - 1)
      || walk->seen.kind != LU_BPF_MAPPING_TABLE)
    return VERDICT_UNKNOWN;
  rule = see_rule (ref, address - 1);
  if (rule == LU_FP_RULE_NONE || rule == LU_FP_RULE_UNKNOWN
      || see_call (ref, address) != LU_CALL_INDIRECT)
    return VERDICT_UNKNOWN;
  walk->caller.pc = address;
  walk->caller.sp = walk->sp + LU_TRAMPOLINE_FRAME + 8;
  walk->caller.fp = walk->fp;
  return VERDICT_FOUND;
}

/* Returns whether the word may be a return address into code with unwind information. */
HOST_SUBPROGRAM int64_t
may_be_caller (walk_ref ref, uint64_t word)
{
  const struct walk *walk = host_walk (ref);
  int64_t rule;

  if (walk == NULL)
    return 1;
  if (!see_mapping (ref, word - 1) || walk->seen.kind != LU_BPF_MAPPING_TABLE)
    return 0;
  rule = see_rule (ref, word - 1);
  return rule == LU_FP_RULE_UNKNOWN
         || (lu_fp_needs_table (rule) && see_call (ref, word) != LU_CALL_NONE);
}

/* FOUND: code with unwind information may have called this leaf in a file; the engines then try
 * more ways to find its caller. */
static inline int64_t
find_caller_on_top (walk_ref ref, const struct walk *walk)
{
  uint64_t words[LU_FP_LEAF_WORDS];

  if (host_read (words, sizeof words, walk->sp) != 0)
    return VERDICT_UNKNOWN;
  for (uint64_t i = 0; i < LU_FP_LEAF_WORDS; i = lu_step_settle (i + 1))
    if (may_be_caller (ref, words[i]))
      return VERDICT_FOUND;
  return VERDICT_NONE;
}
