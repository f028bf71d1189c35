/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-compact.h - the hot subprogram: compact steps whose rules are remembered.
 *
 * A step costs one look at the CPU's remembered rules and one read of the stack. FP and BX are not
 * read before a rule needs them: most frames save them, and few rules need them. */

#pragma once

#include "host.h"
#include "walk-look.h"
#include "walk-window.h"

/* Steps in one call. The verifier follows each separately. */
#define COMPACT_STEPS 4

/* More than the size of any frame. */
#define MAX_ROOM (1ull << 31)

/* Returns all ones if the flag is set, otherwise 0. */
static inline uint64_t
mask_of (lu_compact_rule rule, uint64_t flag)
{
  return is_negative (rule * ((1ull << 63) / flag));
}

/* The frame under way. Steps keep it in registers; the walk has it between calls. */
struct compact_frame
{
  uint64_t pc, sp, fp, bx_at, mark, known, at;
};

/* The code and the frames that steps may reach without another subprogram. */
struct compact_range
{
  uint64_t start, size, to_key; /* of the mapping whose rules are remembered */
  uint64_t limit;               /* of frames */
};

/* Returns the CFA, or 0 if it depends on a frame pointer that is not known. */
static inline __attribute__ ((always_inline)) uint64_t
find_compact_cfa (struct compact_frame *frame, lu_compact_rule rule)
{
  uint64_t saved = frame->known & KNOWN_FP_SAVED;

  if ((rule & LU_COMPACT_BY_FP) == 0)
    return frame->sp + LU_COMPACT_CFA (rule);
  if (saved != 0 && host_read (&frame->fp, sizeof frame->fp, frame->fp) != 0)
    return 0;
  HOST_LEAVE (frame->known, saved);
  return (frame->known & LU_KNOWN_FP) != 0 ? frame->fp + LU_COMPACT_CFA (rule) : 0;
}

/* Returns how many bytes the pair is deeper in the frame than just below the CFA. */
static inline uint64_t
depth_of_pair (lu_compact_rule rule)
{
  return ARCH_HAS_LINK ? LU_BPF_COMPACT_RECORD (rule) : 0;
}

/* Moves to the caller. pair: the word below the return address, and that. */
static inline __attribute__ ((always_inline)) void
move_to_caller (struct compact_frame *frame, lu_compact_rule rule, uint64_t cfa,
                const uint64_t pair[2])
{
  uint64_t reach = cfa - LU_COMPACT_REACH;
  uint64_t fp_slot = reach + LU_COMPACT_SLOT (rule, LU_COMPACT_FP_SHIFT);
  uint64_t bx_slot = reach + LU_COMPACT_SLOT (rule, LU_COMPACT_BX_SHIFT);

  frame->fp ^= (frame->fp ^ fp_slot) & mask_of (rule, LU_COMPACT_FP_DEEP);
  frame->fp ^= (frame->fp ^ pair[0]) & mask_of (rule, LU_COMPACT_FP_PAIR);
  frame->bx_at ^= (frame->bx_at ^ bx_slot) & mask_of (rule, LU_COMPACT_BX_SLOT);
  frame->known = (frame->known & ~(rule >> 3)) | (rule & 7);
  if (ARCH_HAS_LINK)
    frame->known &= LU_KNOWN_FP | KNOWN_FP_SAVED;
  frame->at = lu_step_settle (frame->at + 1);
  frame->mark = LU_BPF_PC_RETURN
                | (rule & LU_BPF_COMPACT_DERIVED) * (LU_BPF_PC_DERIVED / LU_BPF_COMPACT_DERIVED);
  frame->pc = ARCH_ADDRESS (pair[1]);
  frame->sp = cfa;
}

/* For measurements without remembered rules. */
static inline void
forget_last (struct walk *walk)
{
  uint64_t place = remembered_at (walk->last.key);

  HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
  walk->remembered.rules[place].key = walk->last.key = 0;
}

/* Makes one step. RULE: the compact rule does not do here. */
static inline __attribute__ ((always_inline)) int64_t
step_compactly (walk_ref ref, struct walk *walk, struct compact_frame *frame,
                const struct compact_range *range)
{
  uint64_t lookup = frame->pc - (frame->mark >> 63), key = lookup + range->to_key;
  uint64_t index = frame->at, cfa;
  const uint64_t *pair;
  lu_compact_rule rule;

  if (lookup - range->start >= range->size)
    return NEXT_MAPPING;
  if (ARCH_HAS_LINK && (frame->known & LU_LOST_SP) != 0)
    return NEXT_RULE;
  if (key != walk->last.key)
    {
      uint64_t place = remembered_at (key);
      struct remembered *remembered;

      HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
      remembered = &walk->remembered.rules[place];
      if (remembered->key != key)
        {
          int64_t result = walk_rule (ref, lookup);

          if (result != NEXT_ON)
            return result;
        }
      walk->last.key = key;
      walk->last.rule = remembered->rule;
      HOST_BOUND (index, N_TOUCHED_RULES - 1);
      walk->touched.rules[index] = (uint16_t) place;
    }
  rule = *(volatile lu_compact_rule *) &walk->last.rule;
  if (frame->at >= range->limit)
    return NEXT_DEPTH;
  index = frame->at;
  HOST_BOUND (index, N_PCS - 1);
  walk->pcs[index] = frame->pc | frame->mark;
  cfa = find_compact_cfa (frame, rule);
  if (cfa - frame->sp - LU_COMPACT_ROOM (rule) >= MAX_ROOM)
    {
      if ((rule & LU_COMPACT_END) == 0)
        return NEXT_RULE;
      frame->at = lu_step_settle (frame->at + 1);
      return NEXT_ENDED;
    }
  pair = find_pair (ref, walk, cfa - PAIR_BYTES - depth_of_pair (rule));
  if (pair == NULL || pair[1] == 0)
    return NEXT_RULE;
  if ((host_config.flags & LU_BPF_NO_CACHE) != 0)
    forget_last (walk);
  move_to_caller (frame, rule, cfa, pair);
  return NEXT_ON;
}

/* Makes compact steps. The compiler inlines them all, so that the state is loaded and stored only
 * once. */
HOST_SUBPROGRAM int64_t
walk_compact (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  struct compact_frame frame;
  struct compact_range range;
  int64_t result = NEXT_ON;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  frame = (struct compact_frame){ .pc = walk->pc,
                                  .sp = walk->sp,
                                  .fp = walk->fp,
                                  .bx_at = walk->bx_at,
                                  .mark = walk->mark,
                                  .known = walk->known,
                                  .at = walk->at };
  range = (struct compact_range){ .start = walk->place.start,
                                  .size = walk->place.rules_size,
                                  .to_key = walk->place.to_key,
                                  .limit = walk->limit };
  for (int64_t i = 0; i < COMPACT_STEPS && result == NEXT_ON; i++)
    result = step_compactly (ref, walk, &frame, &range);
  if (frame.at != walk->at)
    {
      walk->frame_kind = LU_FRAME_KIND_CALLER;
      walk->ucontext = 0;
    }
  walk->pc = frame.pc;
  walk->sp = frame.sp;
  walk->fp = frame.fp;
  walk->bx_at = frame.bx_at;
  walk->mark = frame.mark;
  walk->known = (uint32_t) frame.known;
  walk->at = (uint32_t) frame.at;
  return result;
}
