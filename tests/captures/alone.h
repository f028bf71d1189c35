/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* alone.h - the contract headers as an outsider would use them: rows, rules and one step, in code
 * that uses neither libc nor src/.
 *
 * Used by replay.c. It finishes walks that rules can express and gives up on all others, as a BPF
 * program must: it has no second engine and takes no frame-pointer steps. */

#pragma once

#include "lu/row.h"

#include <stdint.h>

struct alone_mapping
{
  uint64_t start, end, bias; /* run-time addresses; run-time minus ELF address */
  uint64_t entry;            /* run-time; 0: no table, or rules cover the address */
  struct lu_rows rows;
  const struct lu_rule *rules; /* NULL: no table */
};

struct alone_sample
{
  uint64_t pc, sp, registers[17]; /* by DWARF number of x86-64 */
  const uint8_t *stack;
  uint64_t stack_size;
  const struct alone_mapping *mappings; /* sorted */
  uint32_t n_mappings;
};

/* is_exact: the pc is no return address. */
#define ALONE_MAX_FRAMES 1024
struct alone_stack
{
  uint32_t n;
  uint64_t pcs[ALONE_MAX_FRAMES];
  uint8_t is_exact[ALONE_MAX_FRAMES];
};

/* Returns 1 when the outermost frame was reached, 0 when the walk ended anywhere else. */
int alone_walk (const struct alone_sample *sample, struct alone_stack *stack);
