/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* whole.h - what the unwinders say about the whole stack of a stopped thread.
 *
 * live.c uses it at every step. They get what a sample of that moment would have: the registers, a
 * copy of the stack, and the mappings of the process. */

#pragma once

#include "memory.h"

#include "lu/stack.h"

#include <sys/user.h>

typedef enum
{
  ENGINE_TABLE,
  ENGINE_DWFL,
  ENGINE_BPF, /* the walk of the BPF program, compiled for this program */
  N_ENGINES
} Engine;

typedef struct _Whole Whole;

/* Once in a program. */
Whole *whole_new (void);
void whole_free (Whole *self);
/* Turns to a process; `memory` is borrowed. */
void whole_follow (Whole *self, pid_t pid, Memory *memory);
/* Reads the mappings again. */
void whole_refresh (Whole *self);
/* Takes a sample of a stopped thread, for whole_unwind(). FALSE: its stack cannot be read. */
gboolean whole_sample (Whole *self, pid_t tid, const struct user_regs_struct *regs);
/* Unwinds the sample. The stack is valid until the next call. */
const LuStack *whole_unwind (Whole *self, Engine engine);
const char *engine_name (Engine engine);
/* Whether the address is in executable memory without a file. */
gboolean whole_is_generated (const Whole *self, guint64 address);
/* Returns "FILE+OFFSET" (an offset in the file) for an address in code; g_free() it. */
char *whole_describe (const Whole *self, guint64 address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Whole, whole_free)
