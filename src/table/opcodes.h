/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opcodes.h - executes call frame instructions and hands out row after row.
 *
 * Used by the compiler, for whole files and for single FDEs alike. A row ends where the location
 * advances after something that we follow has changed. Work is bounded by the bytes of the program
 * times the depth of remembered states. */

#pragma once

#include "table/cie.h"

/* Compilers nest remember_state two deep; the guard of the reference engine allows 64. */
#define LU_CFA_MAX_DEPTH 64

typedef struct
{
  LuCfaState state; /* holds from row_start on, until the next row */
  guint64 row_start;
  guint32 work; /* bytes of instructions that lu_compile_at() had to look at */

  /* private */
  LuCursor cursor;
  guint64 start, location, end;
  const LuCfiBytes *section;
  const LuTableArch *arch;
  const LuCie *cie;
  gboolean is_changed, is_done;
  LuCfiFault fault;
  guint depth;
  LuCfaState remembered[LU_CFA_MAX_DEPTH];
} LuCfaRun;

/* Prepares a run of an FDE's program for the code [start, end), from the state its CIE leaves. */
void lu_cfa_run_start (LuCfaRun *self, const LuCfiBytes *section, const LuTableArch *arch,
                       const LuCie *cie, LuCursor program, guint64 start, guint64 end);
/* The next row. FALSE at the end or with `fault` set; rows given out before are not good then. */
gboolean lu_cfa_run_next (LuCfaRun *self);

/* Executes the initial instructions of a CIE and fills `initial`; on failure the CIE has a fault.
 */
void lu_cfa_run_initial (LuCfaRun *self, const LuCfiBytes *section, const LuTableArch *arch,
                         LuCie *cie);
