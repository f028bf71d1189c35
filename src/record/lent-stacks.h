/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lent-stacks.h - copies of stacks that a child of vfork() may have given back before the sample.
 *
 * When such a child executes a program or ends, the kernel lets its parent go on before the child
 * has left the memory of both (mm_release(), called by exec_mmap() and exit_mm()). A copy made in
 * between has the parent's newer words on the child's stack. Nothing in the copy tells, but the
 * kernel was then in begin_new_exec() or do_exit(), so their addresses are looked for among the
 * callers in the kernel, if the process has not executed a program since its fork.
 *
 * The worker reads these addresses when the first such sample comes, because the kernel takes 15 ms
 * to print them (50 ms where a function is missing); samples that arrive before have to go to the
 * worker. Where the kernel does not tell them (kernel.kptr_restrict), no stack is ended. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "process/process.h"

typedef struct _LuLentStacks LuLentStacks;

typedef enum
{
  LU_LENT_NO,
  LU_LENT_YES,     /* or perhaps */
  LU_LENT_UNKNOWN, /* only after lu_lent_stacks_find() */
} LuLentResult;

/* kallsyms_fd: of /proc/kallsyms (kallsyms.h) of the kernel that makes the samples; taken. -1: its
 * addresses are not known, and no stack has been lent. */
LuLentStacks *lu_lent_stacks_new (int kallsyms_fd);
void lu_lent_stacks_free (LuLentStacks *self);

/* Returns whether the words of a copy may belong to the parent of the process. Any thread. */
LuLentResult lu_lent_stacks_ask (const LuLentStacks *self, const LuProcess *process, gint32 tid,
                                 const LuSample *sample);
/* Reads the addresses, once. Worker thread. */
void lu_lent_stacks_find (LuLentStacks *self);

/* Fills in the stack (reset by the caller) of a copy whose words are those of another process: the
 * sampled frame alone, as "other stack". */
void lu_lent_stack_end (const LuSample *sample, LuStack *stack);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuLentStacks, lu_lent_stacks_free)
