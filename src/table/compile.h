/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compile.h - from FDEs to a sorted stream of rows.
 *
 * The one compiler, for whole files and for single FDEs. A sink gets (address, rule) pairs in
 * order; a row of rule 0 stands where nothing is known. An FDE that turns out to be bad gives one
 * row of rule 0: the sink takes back what it had of it. */

#pragma once

#include "table/cfi.h"
#include "table/opcodes.h"
#include "table/rule-list.h"

/* One row while compiling: it holds up to the next one. */
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
  LuRawRows fde_rows; /* scratch: the rows of one FDE */
  LuCfaRun run;
  guint64 budget; /* bytes of instructions that may still be executed */
} LuCompiler;

LuCompiler *lu_compiler_new (LuCfi *cfi);
void lu_compiler_free (LuCompiler *self);

/* Compiles one FDE for the piece [from, to) of its code. The rows are in fde_rows afterwards: the
 * first one at `from`, neighbours different. FALSE with a counted fault if the FDE is bad; then
 * there is one row of rule 0. */
gboolean lu_compiler_run (LuCompiler *self, const LuFde *fde, guint64 from, guint64 to);

/* The rule for one address alone, as the whole table would have it, but for what a table leaves out
 * (LU_MAX_RULES, 4 GiB of code) and for FDEs that are bad behind the address. `run` is scratch. */
struct lu_rule lu_compile_at (LuCfi *cfi, LuCfaRun *run, guint64 address);

/* One piece of code and the FDE that has it. */
typedef void (*LuPieceFunc) (const LuFde *fde, guint64 from, guint64 to, gpointer user_data);
/* Calls `func` for each piece of code that an FDE has, in order; pieces never overlap. */
void lu_compiler_foreach_piece (LuCompiler *self, LuPieceFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCompiler, lu_compiler_free)
