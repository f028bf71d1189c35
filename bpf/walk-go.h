/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-go.h - from a stack that Go's runtime works on to that of the goroutine that it works for.
 *
 * src/elf/go-switch.h finds the rules. A thread's g is in its local storage, or in a register. The
 * names are those of Go's runtime (runtime/runtime2.go): a thread's m has its own g, g0, and the
 * one that it runs, curg; g.sched.sp is the stack pointer of one that has moved away. */

#pragma once

#include "host.h"
#include "walk-window.h"

/* g.stack.hi */
#define GO_STACK_END 8

/* Returns the word at an address, 0 if it cannot be read. */
HOST_SUBPROGRAM uint64_t
read_go (walk_ref ref, uint64_t address)
{
  uint64_t word = 0;

  return host_read_memory (&word, sizeof word, address) == 0 ? word : 0;
}

#ifdef ARCH_GO_REGISTER
/* Returns whether a stack pointer is on the stack of the g of an m that a thread works on itself.
 * The register may hold something else while C code runs. */
static inline int
is_on_own_stack (walk_ref ref, uint64_t m, uint64_t sp)
{
  uint64_t own = read_go (ref, m), start = read_go (ref, own);

  return sp - start < read_go (ref, own + GO_STACK_END) - start;
}
#endif

/* Makes walk->rule one for the stack pointer that is found, which is walk->sp then. Returns 0 if
 * there is none. */
HOST_SUBPROGRAM uint64_t
find_goroutine (walk_ref ref)
{
  struct walk *walk = host_walk (ref);
  uint64_t sp, g, first, second;

  if (walk == NULL)
    return 0;
  first = 8 * (uint64_t) (int64_t) walk->rule.bx_off;
  second = (uint64_t) (int64_t) walk->rule.ra_off;
  if (walk->rule.cfa_kind == LU_CFA_GO_SCHED)
    {
#ifdef ARCH_GO_REGISTER
      g = read_go (ref, walk->regs[ARCH_GO_REGISTER] + 8 * (second & 255));
      if (!is_on_own_stack (ref, g, walk->sp))
        return 0;
#else
      g = read_go (ref, host_thread_pointer () + (uint64_t) (int64_t) walk->rule.aux);
      g = read_go (ref, g + 8 * (second & 255));
#endif
      g = read_go (ref, g + first);
      sp = read_go (ref, g + 8 * (second >> 8 & 255));
    }
  else
    {
      g = read_go (ref, walk->sp + first);
      sp = read_go (ref, g + GO_STACK_END) - read_go (ref, walk->sp + 8 * second);
    }
  walk->sp = sp;
  walk->rule.cfa_kind = LU_CFA_SP;
  walk->rule.ra_off = ARCH_HAS_LINK ? (int16_t) - (walk->rule.cfa_off >> 3) : -1;
  walk->rule.flags = LU_RULE_SWITCH;
  return sp;
}
