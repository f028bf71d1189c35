/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compile.h - turns FDEs into a sorted stream of rows.
 *
 * The only compiler, for whole files and for single FDEs. A sink gets (address, rule) pairs in
 * order; a row of rule 0 means that nothing is known from there on. A bad FDE results in one row of
 * rule 0: the sink drops the rows it already had of it. */

#pragma once

#include "table/cfi.h"
#include "table/opcodes.h"
#include "table/rule-list.h"

/* A row while compiling; valid up to the next one. */
typedef struct
{
  guint64 address; /* ELF address */
  guint32 rule;    /* id */
} LuRawRow;

typedef struct
{
  LuRawRow *rows; /* owned */
  guint n, n_allocated;
} LuRawRows;

typedef struct
{
  LuCfi *cfi; /* borrowed */
  LuRuleList rules;
  LuRawRows fde_rows; /* scratch memory: the rows of one FDE */
  LuCfaRun run;
  guint64 budget; /* bytes of instructions that may still be executed */
} LuCompiler;

/* cfi: NULL if there is none, and nothing to run. */
LuCompiler *lu_compiler_new (LuCfi *cfi);
void lu_compiler_free (LuCompiler *self);

/* Compiles one FDE for the range [from, to) of its code. fde_rows then contains the rows: the first
 * one at `from`, no two neighbours with equal rules. If the FDE is bad, returns FALSE, counts a CFI
 * error, and leaves one row of rule 0. */
gboolean lu_compiler_run (LuCompiler *self, const LuFde *fde, guint64 from, guint64 to);

/* Returns the rule for one address. It equals that of the whole table, except for code beyond the
 * limits of a table (LU_MAX_RULES, 4 GiB of code) and for FDEs that are bad after the address.
 * `run` is scratch memory. */
struct lu_rule lu_compile_at (LuCfi *cfi, LuCfaRun *run, guint64 address);

/* A range of code and its FDE. */
typedef void (*LuPieceFunc) (const LuFde *fde, guint64 from, guint64 to, gpointer user_data);
/* Calls `func` for each range of code with an FDE, in order; ranges never overlap. */
void lu_compiler_foreach_piece (LuCompiler *self, LuPieceFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCompiler, lu_compiler_free)
