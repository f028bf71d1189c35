/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.h - evaluates the expressions that libdw returns, on the registers and memory of a
 * process. */

#pragma once

#include "decider.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

typedef struct
{
  const Registers *registers;
  Memory *memory;
  guint64 cfa;
} Expression;

/* Returns a register's contents, or the value that the operations leave on top. FALSE if they need
 * something unknown or unreadable, or an operation that is not used in CFI. */
gboolean expression_evaluate (const Expression *self, const Dwarf_Op *ops, gsize n_ops,
                              guint64 *value);
/* "DW_OP_regN": the value is in another register. */
gboolean expression_is_register (const Dwarf_Op *ops, gsize n_ops);
/* Returns a text for people; the caller frees it with g_free(). */
char *expression_to_text (const Dwarf_Op *ops, gsize n_ops);
