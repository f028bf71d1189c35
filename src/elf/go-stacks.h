/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.h - finds where the stacks of a Go program end, which its unwind information does not
 * say.
 *
 * On x86, Go's linker writes no rule for the outermost function of a stack: TOPFRAME in textflag.h
 * becomes "return address undefined" only on machines with a link register. So these functions are
 * recognized by name, as in Go's runtime (topofstack() in runtime/traceback.go). Only files with a
 * .go.buildinfo section are read. */

#pragma once

#include "elf/headers.h"

typedef enum
{
  LU_GO_ORDINARY,
  LU_GO_TOP,    /* has no caller */
  LU_GO_SWITCH, /* runs its callee on another stack: the frame above is not its caller */
} LuGoFunctionKind;

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
  LuGoFunctionKind kind;
} LuGoFunction;

/* Returns an array of LuGoFunction, owned, or NULL if the file is not from Go or has no symbols. */
GArray *lu_go_functions_read (const LuElfHeaders *headers, const LuElfInput *input);
LuGoFunctionKind lu_go_functions_find (const GArray *functions, guint64 elf_address);
