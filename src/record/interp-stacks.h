/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interp-stacks.h - puts the functions of interpreters into finished stacks, in the writer's
 * thread; src/interp/ has the rules. */

#pragma once

#include "interp/functions.h"
#include "messages.h"
#include "capture/sink.h"

typedef struct _LuInterpStacks LuInterpStacks;

/* keeps_native: leave the interpreter's own frames beside the functions. */
LuInterpStacks *lu_interp_stacks_new (gboolean keeps_native);
void lu_interp_stacks_free (LuInterpStacks *self);

/* Takes the announcement of a function, and drops the message's reference. */
void lu_interp_stacks_learn (LuInterpStacks *self, const LuInterpFunctionMessage *message);
/* The process with that pid has ended. */
void lu_interp_stacks_end (LuInterpStacks *self, gint32 pid);
/* Adds the functions of the message to a sample made from it, whose user frames are then borrowed
 * until the next call. Counts what became of them in `counters`. */
void lu_interp_stacks_merge (LuInterpStacks *self, const LuStackMessage *message,
                             LuSinkSample *sample, LuCounters *counters);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuInterpStacks, lu_interp_stacks_free)
