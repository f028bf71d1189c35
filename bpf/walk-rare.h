/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-rare.h - the subprogram for any rule: one lu_step(), as the table engine executes it. */

#pragma once

#include "host.h"
#include "walk-go.h"
#include "walk-look.h"
#include "walk-window.h"

/* The arguments of the parts of a step. */
struct rare
{
  struct walk *walk;
  walk_ref ref;
};

static inline __attribute__ ((always_inline)) int
read_word (void *data, uint64_t address, uint64_t *value)
{
  const struct rare *rare = data;
  uint64_t result = ~(uint64_t) read_stack (rare->ref, address);

  *value = rare->walk->window.word;
  /* Returns 0 or an error; the verifier need not know which. */
  return (int) (lu_step_settle (result) >> 63);
}

/* Returns a register of the sample by its DWARF number. */
static inline __attribute__ ((always_inline)) int
read_register (void *data, uint32_t number, uint64_t *value)
{
  const struct rare *rare = data;
  uint64_t place = lu_step_settle (arch_place_of (lu_step_settle (number)));

  if (place >= N_REGS)
    return 0;
  *value = rare->walk->regs[place];
  return 1;
}

/* Executes lu_step_saved_one() for walk->rule and walk->saved. It is a function of its own, which
 * the verifier follows once for both registers. */
HOST_SUBPROGRAM int64_t
find_saved (walk_ref ref, uint64_t is_bx, uint64_t cfa)
{
  struct walk *walk = host_walk (ref);
  struct rare rare = { walk, ref };

  if (walk == NULL)
    return 0;
  return lu_step_saved_one (&walk->step, &walk->rule, lu_step_settle (is_bx & 1), cfa, read_word,
                            &rare, &walk->saved);
}

static inline __attribute__ ((always_inline)) int
read_saved (const struct lu_regs *regs, const struct lu_rule *rule, uint64_t is_bx, uint64_t cfa,
            lu_read_fn read, void *data, uint64_t *value)
{
  const struct rare *rare = data;
  int64_t is_known;

  rare->walk->saved = *value;
  is_known = find_saved (rare->ref, is_bx, cfa);
  *value = rare->walk->saved;
  return is_known != 0;
}

/* Reads FP and BX, if they are still where they were saved. Returns walk->known. It is a function
 * of its own, or the verifier would follow the code after it for each path through it. */
HOST_SUBPROGRAM uint64_t
fetch_saved (walk_ref ref)
{
  struct walk *walk = host_walk (ref);

  if (walk == NULL)
    return 0;
  if ((walk->known & KNOWN_FP_SAVED) != 0)
    {
      if (read_stack (ref, walk->fp) == 0)
        walk->fp = walk->window.word;
      else
        walk->known &= ~(uint32_t) LU_KNOWN_FP;
      walk->known &= ~(uint32_t) KNOWN_FP_SAVED;
    }
  if (walk->bx_at != 0)
    {
      if (read_stack (ref, walk->bx_at) == 0)
        walk->bx = walk->window.word;
      else
        walk->known &= ~(uint32_t) LU_KNOWN_BX;
      walk->bx_at = 0;
    }
  return walk->known;
}

/* Appends the frame. Returns FALSE if there are enough frames. */
static inline int
push_frame (struct walk *walk)
{
  uint32_t index = walk->at;

  if (index >= walk->limit)
    return 0;
  HOST_BOUND (index, N_PCS - 1);
  walk->pcs[index] = walk->pc | walk->mark;
  walk->at++;
  return 1;
}

/* Returns whether a return address of 0 ends the stack at this place. */
static inline int
is_entry (const struct walk *walk, uint64_t lookup)
{
  uint64_t table, entry = look_up_module (walk->place.module, &table)->entry;

  return entry != 0 && lookup - walk->place.bias - entry < LU_BPF_ENTRY_CODE;
}

static inline int64_t
give_up_after (int status)
{
  switch (status)
    {
    case LU_STATUS_UNREADABLE_MEMORY:
      return GIVE_UP (UNREADABLE);
    case LU_STATUS_BAD_RETURN_ADDRESS:
      return GIVE_UP (BAD_FRAME);
    default:
      return GIVE_UP (COMPLEX);
    }
}

/* Returns whether the frame may have been written over before a jump to a landing pad. The engines
 * then look for its caller (src/unwind/landing-pad.h has the condition). */
static inline int
may_land (const struct walk *walk)
{
  uint32_t last = walk->at - 1, before = walk->at - 2;

  if ((walk->rule.flags & LU_RULE_LANDING) == 0)
    return 0;
  HOST_BOUND (last, N_PCS - 1);
  HOST_BOUND (before, N_PCS - 1);
  return walk->at - walk->n_kernel < 2
         || (walk->mark & walk->pcs[last] & walk->pcs[before] & LU_BPF_PC_RETURN) == 0;
}

HOST_SUBPROGRAM int64_t
walk_rare (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  struct rare rare = { walk, ref };
  struct lu_regs *regs;
  uint64_t lookup, known;
  int64_t result;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  lookup = walk_lookup (walk);
  regs = &walk->step;
  if (lu_step_settle ((walk->rule.cfa_kind ^ LU_CFA_COMPLEX) | walk->mark) == 0)
    return GIVE_UP (COMPLEX);
  if (may_land (walk))
    return GIVE_UP (COMPLEX);
  known = fetch_saved (ref);
  if (walk->rule.cfa_kind > LU_CFA_COMPLEX && find_goroutine (ref) == 0)
    return GIVE_UP (COMPLEX);
  *regs = (struct lu_regs){ .pc = walk->pc,
                            .sp = walk->sp,
                            .fp = walk->fp,
                            .bx = walk->bx,
                            .link = walk->link,
                            .ucontext = walk->ucontext,
                            .address_mask = ARCH_ADDRESS (~(uint64_t) 0),
                            .known = (uint8_t) known,
                            .frame_kind = (uint8_t) walk->frame_kind };
  if (!push_frame (walk))
    return NEXT_DEPTH;
  result = lu_step_with (regs, &walk->rule, read_word, read_register, read_saved, &rare);
  HOST_FORGET (walk, result);
  if (result == LU_STATUS_COMPLETE)
    return NEXT_ENDED;
  if (result != LU_STEP_CALLER)
    return give_up_after (result);
  regs->pc = ARCH_ADDRESS (regs->pc);
  if (regs->pc == 0)
    return is_entry (walk, lookup) ? NEXT_ENDED : GIVE_UP (BAD_FRAME);
  walk->pc = regs->pc;
  walk->sp = regs->sp;
  walk->fp = regs->fp;
  walk->bx = regs->bx;
  walk->known = regs->known;
  walk->ucontext = regs->ucontext;
  walk->link = regs->link;
  walk->frame_kind = regs->frame_kind;
  walk->mark =
      (regs->frame_kind == LU_FRAME_KIND_CALLER ? LU_BPF_PC_RETURN : 0)
      | (uint64_t) (walk->rule.flags & LU_RULE_DERIVED) * (LU_BPF_PC_DERIVED / LU_RULE_DERIVED);
  return NEXT_ON;
}
