/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-plain.h - the hot turn: plain steps whose rules are remembered, with registers in registers.
 *
 * A step costs one look at the CPU's remembered rules and one read of the stack. FP and BX are not
 * read before a rule asks for them: most frames save them, and few rules need them. */

#pragma once

#include "host.h"

/* Steps in one turn. Each is verified by itself. */
#define PLAIN_STEPS 4

/* A frame's size is less. */
#define MAX_ROOM (1ull << 31)

/* All ones if the flag is set, else 0. */
static inline uint64_t
mask_of (uint64_t plain, uint64_t flag)
{
  return is_negative (plain * ((1ull << 63) / flag));
}

HOST_TURN int64_t
walk_plain (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t pc, sp, fp, bx_at, mark, start, size, to_key, known, at, limit;
  int64_t result = TURN_ON;

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  pc = walk->pc;
  sp = walk->sp;
  fp = walk->fp;
  bx_at = walk->bx_at;
  mark = walk->mark;
  known = walk->known;
  at = walk->at;
  limit = walk->limit;
  start = walk->place.start;
  size = walk->place.plain_size;
  to_key = walk->place.to_key;
  for (int64_t i = 0; i < PLAIN_STEPS; i++)
    {
      uint64_t lookup = pc - (mark >> 63), key = lookup + to_key;
      uint64_t plain, cfa = sp, room, pair[2], place = remembered_at (key), index = at;

      if (lookup - start >= size)
        {
          result = TURN_MAPPING;
          break;
        }
      HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
      result = TURN_RULE;
      if (walk->remembered.rules[place].key != key)
        break;
      plain = walk->remembered.rules[place].plain;
      if (at >= limit)
        {
          result = TURN_DEPTH;
          break;
        }
      HOST_BOUND (index, N_PCS - 1);
      walk->pcs[index] = pc | mark;
      if ((plain & PLAIN_BY_FP) != 0)
        {
          uint64_t saved = known & KNOWN_FP_SAVED;

          if (saved != 0 && host_read (&fp, sizeof fp, fp) != 0)
            break;
          HOST_LEAVE (known, saved);
          if ((known & LU_KNOWN_FP) == 0)
            break;
          cfa = fp;
        }
      cfa += PLAIN_CFA (plain);
      room = cfa - sp;
      if (room - PLAIN_ROOM (plain) >= MAX_ROOM)
        {
          if ((plain & PLAIN_END) == 0)
            break;
          at = lu_step_settle (at + 1);
          result = TURN_ENDED;
          break;
        }
      host_read (pair, sizeof pair, cfa - sizeof pair);
      if (pair[1] == 0) /* so it is if it cannot be read */
        break;
      fp ^= (fp ^ (cfa - PLAIN_FP_DEPTH (plain))) & mask_of (plain, PLAIN_FP_LATE);
      fp ^= (fp ^ pair[0]) & mask_of (plain, PLAIN_FP_PAIR);
      bx_at ^= (bx_at ^ (cfa - PLAIN_BX_DEPTH (plain))) & mask_of (plain, PLAIN_BX_SLOT);
      known = (known & ~(plain >> 3)) | (plain & 7);
      at = lu_step_settle (at + 1);
      mark = LU_BPF_PC_RETURN;
      pc = pair[1];
      sp = cfa;
      result = TURN_ON;
    }
  if (at != walk->at)
    {
      walk->frame_kind = LU_FRAME_KIND_CALLER;
      walk->ucontext = 0;
    }
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->bx_at = bx_at;
  walk->mark = mark;
  walk->known = (uint32_t) known;
  walk->at = (uint32_t) at;
  return result;
}
