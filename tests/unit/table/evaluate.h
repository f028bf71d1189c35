/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* evaluate.h - evaluates libdw's description of a frame on invented registers and memory.
 *
 * Used by tests that compare rules with libdw: both get the same registers and memory, and the
 * results must be equal. The evaluator is written for the tests alone and does not recognize shapes
 * of expressions. */

#pragma once

#include "lu/step.h"
#include "table/state.h"

#include <elfutils/libdw.h>
#include <glib.h>

#define N_REGISTERS 33

/* Memory is a function of the address and the seed: every address can be read. Values are addresses
 * above the stack pointer, so that a CFA computed from them can be a caller's. */
typedef struct
{
  guint64 registers[N_REGISTERS]; /* by DWARF number */
  guint64 seed;
  guint64 pc;
} World;

/* Invents registers; the stack pointer is the lowest of all values. */
void world_init (World *self, guint64 seed, guint sp_number, guint pc_number, guint64 pc);
guint64 world_read (const World *self, guint64 address);

/* Returns FALSE if the expression needs something that this world does not have. */
gboolean world_evaluate (const World *self, const Dwarf_Op *ops, size_t n_ops, guint64 cfa,
                         guint64 *value);

typedef enum
{
  FRAME_VALUE, /* *value is the caller's */
  FRAME_UNDEFINED,
  FRAME_FAILED, /* libdw or the evaluator cannot say */
} FrameValue;

gboolean world_cfa (const World *self, Dwarf_Frame *frame, guint64 *cfa);
/* Only the sampled frame has the registers that such a rule needs. */
gboolean world_is_for_leaf (const struct lu_rule *rule);
/* Our side: does one step in this world; returns the result of lu_step(). */
int world_step (const World *self, const LuArch *arch, const struct lu_rule *rule,
                struct lu_regs *regs);
FrameValue world_caller_register (const World *self, Dwarf_Frame *frame, guint number, guint64 cfa,
                                  guint64 *value);
/* Returns whether the frame is the outermost one for libdw: its return address is undefined. */
gboolean is_outermost (Dwarf_Frame *frame);
