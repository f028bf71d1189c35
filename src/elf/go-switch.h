/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-switch.h - how a walk goes on behind a function of Go's runtime that has moved to another
 * stack, or aligned its stack pointer, and called something there.
 *
 * Used by go-stacks.c. The code of these functions, which is in assembly, tells where they keep the
 * stack that they came from (the runtime's files in assembly); code that is not
 * known gets no rule. Only the walk in the kernel can read the other stack. */

#pragma once

#include "elf/go-table.h"
#include "lu/row.h"

/* No function that is looked at is larger. */
#define LU_GO_SWITCH_BYTES 512

typedef struct
{
  const char *name; /* of the function */
  const guint8 *code;
  gsize size;
} LuGoCode;

/* Returns whether a function of this name may have rules. */
gboolean lu_go_may_switch (const char *name);
/* Finds the rule of a frame whose return address is at code + *at or later, and sets *at to that
 * place. FALSE: there are no more. */
gboolean lu_go_find_switch (const LuGoCode *code, gsize *at, struct lu_rule *rule);
