/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.h - where the stacks of a Go program end, which its unwind information cannot say.
 *
 * On x86 Go's linker writes no rule for the outermost function of a stack (TOPFRAME in textflag.h
 * becomes "return address undefined" only where there is a link register), so the functions are
 * known by name, as its own run-time knows them (topofstack() in runtime/traceback.go). Only files
 * with a .go.buildinfo section are looked at. */

#pragma once

#include "elf/headers.h"

typedef enum
{
  LU_GO_ORDINARY,
  LU_GO_TOP,    /* nobody has called it */
  LU_GO_SWITCH, /* runs its callee on another stack: what is above it is not its caller */
} LuGoPlace;

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
  LuGoPlace place;
} LuGoFunction;

/* Array of LuGoFunction, or NULL for a file that is not Go's or has no symbols. Owned. */
GArray *lu_go_functions_read (const LuElfHeaders *headers, const LuElfInput *input);
LuGoPlace lu_go_functions_find (const GArray *functions, guint64 elf_address);
