/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-plain.h - the hot turn: plain steps whose rules are remembered, with registers in registers.
 *
 * A step costs one look at the CPU's remembered rules and one read of the stack. FP and BX are not
 * read before a rule asks for them: most frames save them, and few rules need them. */

#pragma once

#include "host.h"

/* Steps in one turn. Each is verified by itself. */
#define PLAIN_STEPS 8

/* A frame's size is less. */
#define MAX_ROOM (1ull << 31)

HOST_TURN int
walk_plain (uint32_t cpu)
{
  struct walk *walk = host_walk (cpu);
  const struct remembered_rules *all = host_remembered (cpu);
  uint64_t pc, sp, fp, fp_at, bx_at, mark, start, size, to_key;
  uint32_t known, at, limit;
  int result = TURN_ON;

  if (walk == NULL || all == NULL)
    return GIVE_UP (INTERNAL);
  pc = walk->pc;
  sp = walk->sp;
  fp = walk->fp;
  fp_at = walk->fp_at;
  bx_at = walk->bx_at;
  mark = walk->mark;
  known = walk->known;
  at = walk->at;
  limit = walk->limit;
  start = walk->place.start;
  size = walk->place.plain_size;
  to_key = walk->place.to_key;
  for (int i = 0; i < PLAIN_STEPS; i++)
    {
      uint64_t lookup = pc - (mark >> 63), key = lookup + to_key;
      uint64_t plain, cfa, room, pair[2];
      uint32_t place = remembered_at (key), index = at;

      if (lookup - start >= size)
        {
          result = TURN_MAPPING;
          break;
        }
      HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
      if (all->rules[place].key != key)
        {
          result = TURN_RULE;
          break;
        }
      plain = all->rules[place].plain;
      if (at >= limit)
        {
          result = TURN_DEPTH;
          break;
        }
      HOST_BOUND (index, N_PCS - 1);
      if ((plain & PLAIN) == 0)
        {
          walk->pcs[index] = pc | mark;
          at++;
          result = TURN_ENDED;
          break;
        }
      cfa = sp;
      if ((plain & PLAIN_BY_FP) != 0)
        {
          if (fp_at != 0)
            {
              if (host_read (&fp, sizeof fp, fp_at) != 0)
                {
                  result = GIVE_UP (UNREADABLE);
                  break;
                }
              fp_at = 0;
            }
          cfa = fp;
        }
      cfa += PLAIN_CFA (plain);
      room = cfa - sp;
      if (room - 8 >= MAX_ROOM)
        {
          result = TURN_RULE;
          break;
        }
      if ((plain & PLAIN_BY_FP) != 0
          && ((known & LU_KNOWN_FP) == 0 || PLAIN_FP_DEPTH (plain) > room
              || PLAIN_BX_DEPTH (plain) > room))
        {
          result = TURN_RULE;
          break;
        }
      if ((plain & PLAIN_PAIR) != 0)
        {
          if (host_read (pair, sizeof pair, cfa - sizeof pair) != 0)
            {
              result = GIVE_UP (UNREADABLE);
              break;
            }
        }
      else if (host_read (&pair[1], sizeof pair[1], cfa - sizeof pair[1]) != 0)
        {
          result = GIVE_UP (UNREADABLE);
          break;
        }
      if (pair[1] == 0)
        {
          result = TURN_RULE;
          break;
        }
      if ((plain & PLAIN_PAIR) != 0)
        {
          fp = pair[0];
          fp_at = 0;
        }
      else if ((plain & PLAIN_FP_SLOT) != 0)
        fp_at = cfa - PLAIN_FP_DEPTH (plain);
      if ((plain & PLAIN_BX_SLOT) != 0)
        bx_at = cfa - PLAIN_BX_DEPTH (plain);
      known |= plain >> 2 & (LU_KNOWN_FP | LU_KNOWN_BX);
      known &= ~(uint32_t) (plain >> 3 & LU_KNOWN_BX); /* PLAIN_BX_LOST */
      walk->pcs[index] = pc | mark;
      at++;
      mark = LU_BPF_PC_RETURN;
      pc = pair[1];
      sp = cfa;
    }
  if (at != walk->at)
    {
      walk->frame_kind = LU_FRAME_KIND_CALLER;
      walk->ucontext = 0;
    }
  walk->pc = pc;
  walk->sp = sp;
  walk->fp = fp;
  walk->fp_at = fp_at;
  walk->bx_at = bx_at;
  walk->mark = mark;
  walk->known = known;
  walk->at = at;
  return result;
}
