/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* extra-rows.h - rows that do not come from CFI: from instructions (src/code), or from tables that
 * a language's linker has left in the file.
 *
 * A table gets them where no FDE covers the code, so CFI always wins. Whoever makes the rows gives
 * them in order of address, and marks those that are not certain with LU_RULE_DERIVED: the walk
 * then verifies each step (src/unwind/derived-step.h), for which it needs to know where functions
 * begin and to which others they jump. */

#pragma once

#include "table/rule-list.h"

/* A row; valid up to the next one. */
typedef struct
{
  guint64 address; /* ELF address */
  guint32 rule;    /* id */
} LuExtraRow;

/* A function that goes on in another one without a call. */
typedef struct
{
  guint64 from, to; /* ELF addresses where they begin */
} LuFunctionJump;

/* In place of `to`: a jump through a register or memory, which may lead anywhere. */
#define LU_JUMP_ANYWHERE G_MAXUINT64

typedef struct
{
  GArray *rows; /* of LuExtraRow, ascending; rule 0: nothing is known from there on */
  LuRuleList rules;
  GArray *starts; /* of guint64, ascending: where functions begin */
  GArray *jumps;  /* of LuFunctionJump, by `from` and then by `to` */
} LuExtraRows;

LuExtraRows *lu_extra_rows_new (void);
void lu_extra_rows_free (LuExtraRows *self); /* NULL is allowed */

/* Adds a row, whose address is above that of the last one, or the same: then it takes its place.
 * One that repeats the last rule is left out. NULL: nothing is known from there on. */
void lu_extra_rows_add (LuExtraRows *self, guint64 address, const struct lu_rule *rule);
void lu_extra_rows_add_start (LuExtraRows *self, guint64 address);
void lu_extra_rows_add_jump (LuExtraRows *self, guint64 from, guint64 to);
/* Sorts the jumps, and leaves each in once. */
void lu_extra_rows_sort_jumps (LuExtraRows *self);

/* Returns the index of the last row at or below an address, or -1. */
gint64 lu_extra_rows_find (const LuExtraRows *self, guint64 address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuExtraRows, lu_extra_rows_free)
