/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opcodes.h - executes call frame instructions and returns row after row.
 *
 * Used by the compiler, for whole files and for single FDEs. A row ends where the location advances
 * after a followed register has changed. Work is bounded by the bytes of the program times the
 * depth of remembered states. */

#pragma once

#include "table/cie.h"

/* Compilers nest remember_state two deep; the reference engine allows 64. */
#define LU_CFA_MAX_DEPTH 64

/* The call frame instructions of one FDE or CIE. Everything is borrowed. */
typedef struct
{
  const LuCfiBytes *section;
  const LuArch *arch;
  const LuCie *cie;
  LuCursor instructions;
  guint64 start, end; /* the code that they describe, ELF addresses */
} LuCfaProgram;

typedef struct
{
  LuCfaState state; /* valid from row_start until the next row */
  guint64 row_start;
  guint32 work; /* bytes of instructions that lu_compile_at() executed */

  /* private */
  LuCfaProgram program;
  LuCursor cursor;
  guint64 location;
  gboolean is_changed, is_done;
  LuCfiError cfi_error;
  guint depth;
  LuCfaState remembered[LU_CFA_MAX_DEPTH];
} LuCfaRun;

/* Prepares a run of an FDE's program from the state that its CIE leaves. */
void lu_cfa_run_start (LuCfaRun *self, const LuCfaProgram *program);
/* Advances to the next row. Returns FALSE at the end, or on an error with `cfi_error` set; earlier
 * rows are invalid then. */
gboolean lu_cfa_run_next (LuCfaRun *self);

/* Executes the initial instructions of a CIE and fills in `initial`; sets the CIE's `cfi_error` on
 * failure. */
void lu_cfa_run_initial (LuCfaRun *self, const LuCfiBytes *section, const LuArch *arch, LuCie *cie);
