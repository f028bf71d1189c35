/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* step-bpf.c - row.h and step.h as in a BPF program; the test compiles it for BPF but never loads
 * it. It must work without libc, with everything inlined and no call except to the two readers. */

#include "lu/row.h"
#include "lu/step.h"

struct walk
{
  struct lu_regs regs;
  uint64_t stack[64];
  uint64_t sampled_sp;
};

static __inline int
read_stack (void *data, uint64_t address, uint64_t *value)
{
  const struct walk *walk = data;
  uint64_t index = (address - walk->sampled_sp) >> 3;

  *value = walk->stack[index & 63];
  return index < 64;
}

static __inline int
read_register (void *data, uint32_t number, uint64_t *value)
{
  return 0;
}

int walk_once (struct walk *walk, const struct lu_rows *rows, const struct lu_rule *rules);

int
walk_once (struct walk *walk, const struct lu_rows *rows, const struct lu_rule *rules)
{
  uint64_t lookup = walk->regs.pc - (walk->regs.frame_kind == LU_FRAME_KIND_CALLER);
  uint32_t rule = lu_rows_find (rows, lookup);

  return lu_step (&walk->regs, &rules[rule & (LU_MAX_RULES - 1)], read_stack, read_register, walk);
}
