/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stacks.h - the stacks of one thread: coroutines (swapcontext) move the stack pointer from one
 * stack to another, and each stack has its own callers.
 *
 * Used by thread.c. A stack is known by its mapping, so programs give each stack a mapping of its
 * own. A handler on an alternate stack belongs to the code that it interrupted and moves nothing.
 */

#pragma once

#include "shadow.h"

#include <sys/types.h>

typedef struct
{
  guint64 start, end; /* the mapping around the stack pointer; end 0: not known yet */
  GArray *parked;     /* of Parked (stacks.c): the other stacks */
} Stacks;

void stacks_init (Stacks *self);
void stacks_clear (Stacks *self);

/* The stack pointer is `sp` now. `is_signal`: the kernel moved it. If it is on another stack,
 * exchanges the callers of the shadow and returns TRUE; a stack that is new has no callers. */
gboolean stacks_follow (Stacks *self, Shadow *shadow, pid_t pid, guint64 sp, gboolean is_signal);
