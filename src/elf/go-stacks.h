/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.h - finds what the unwind information of a Go program does not say: where stacks end
 * and where a signal has interrupted a function.
 *
 * Where calls push their return address, Go's linker writes no rule for the outermost function of a
 * stack: TOPFRAME in textflag.h becomes "return address undefined" only on machines with a link
 * register. So these functions are recognized by name, as in Go's runtime (topofstack() in
 * runtime/traceback.go). The table of functions (go-table.h) has the names, and since Go 1.17 tells
 * which other functions write the stack pointer.
 *
 * A signal handler preempts a goroutine by putting a call of runtime.asyncPreempt before the
 * interrupted instruction (runtime/preempt.go). Where the kernel calls the handler, the return
 * address is the start of runtime.sigreturn, whose CFI does not describe the kernel's frame. */

#pragma once

#include "elf/go-table.h"
#include "lu/row.h"
#include "lu/status.h"

typedef enum
{
  LU_GO_ORDINARY,
  LU_GO_TOP,      /* has no caller */
  LU_GO_LEAVE,    /* moves to another stack, and has no caller there */
  LU_GO_SWITCH,   /* moves to another stack: the frame above is not its caller */
  LU_GO_PREEMPT,  /* its caller was interrupted */
  LU_GO_RESTORER, /* the byte before it: as a return address, a frame of the kernel is above */
} LuGoFunctionKind;

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
  LuGoFunctionKind kind;
  /* With LU_GO_SWITCH and LU_GO_PREEMPT: for the walk in the kernel; cfa_kind NONE: there is none.
   */
  struct lu_rule rule;
} LuGoFunction;

/* Returns an array of LuGoFunction, owned. Where they overlap, the first one counts: return
 * addresses with a rule come before the function that they are in. machine: EM_* */
GArray *lu_go_functions_new (const LuGoTable *table, guint16 machine);
LuGoFunctionKind lu_go_functions_find (const GArray *functions, guint64 elf_address);
/* Returns whether a stack ends at a frame of such a function, and sets the state. In code that is
 * running, not calling, nobody knows which of two stacks it is on. */
gboolean lu_go_stack_ends (LuGoFunctionKind kind, gboolean is_caller, LuStatus *status);
