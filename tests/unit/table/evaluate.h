/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* evaluate.h - what libdw says of a frame, evaluated on invented registers and memory.
 *
 * Used by tests that compare rules with libdw: both are given the same registers and the same
 * memory, and the results must be the same numbers. The evaluator is written for the test alone and
 * knows no shape of expression. */

#pragma once

#include "lu/step.h"
#include "table/state.h"

#include <elfutils/libdw.h>
#include <glib.h>

#define N_REGISTERS 33

/* Memory is a function of the address and the seed: every address can be read. Values are addresses
 * above the stack pointer, so that a CFA made of them is a caller's. */
typedef struct
{
  guint64 registers[N_REGISTERS]; /* by DWARF number */
  guint64 seed;
  guint64 pc;
} World;

/* Invents registers; the stack pointer is the lowest of all values. */
void world_init (World *self, guint64 seed, guint sp_number, guint pc_number, guint64 pc);
guint64 world_read (const World *self, guint64 address);

/* FALSE if the expression needs something that is not in the world. */
gboolean world_evaluate (const World *self, const Dwarf_Op *ops, size_t n_ops, guint64 cfa,
                         guint64 *value);

typedef enum
{
  FRAME_VALUE, /* *value is the caller's */
  FRAME_UNDEFINED,
  FRAME_FAILED, /* libdw or the evaluator cannot say */
} FrameValue;

gboolean world_cfa (const World *self, Dwarf_Frame *frame, guint64 *cfa);
/* Only the sampled frame has what such a rule needs. */
gboolean world_is_for_leaf (const struct lu_rule *rule);
/* Our side: one step in this world; the result of lu_step(). */
int world_step (const World *self, const LuTableArch *arch, const struct lu_rule *rule,
                struct lu_regs *regs);
FrameValue world_caller_register (const World *self, Dwarf_Frame *frame, guint number, guint64 cfa,
                                  guint64 *value);
