/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stacks.h - the stacks of one thread: coroutines (swapcontext) move the stack pointer from one to
 * another, and each has callers of its own.
 *
 * Used by thread.c. A stack is known by the mapping that it lies in, so programs give each a
 * mapping of its own. A handler on an alternate stack belongs to what it interrupted and moves
 * nothing. */

#pragma once

#include "shadow.h"

#include <sys/types.h>

typedef struct
{
  guint64 start, end; /* the mapping around the stack pointer; end 0: not known yet */
  GArray *parked;     /* of Parked (stacks.c): the other ones */
} Stacks;

void stacks_init (Stacks *self);
void stacks_clear (Stacks *self);

/* The stack pointer is `sp` now. `is_signal`: the kernel moved it. Exchanges the callers of the
 * shadow if that is on another stack, and returns TRUE then; one that was never seen has none. */
gboolean stacks_follow (Stacks *self, Shadow *shadow, pid_t pid, guint64 sp, gboolean is_signal);
