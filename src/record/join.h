/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* join.h - completes stacks that the copy cut off with frames of other samples of the thread.
 *
 * The kernel copies less than 64 KiB of a stack; deep ones lose their outermost frames, which
 * change least of all. A cut-off stack is completed when its outermost frame (same pc, same stack
 * pointer) is both in the last whole stack of the thread before it and in the next one after it,
 * and these two agree on all frames further out: almost surely the thread has not left that frame
 * in between. The added frames are marked LU_FRAME_INFERRED and the stacks are counted. Other
 * stacks stay cut off.
 *
 * Writer thread. */

#pragma once

#include "messages.h"

typedef struct _LuJoin LuJoin;

/* Takes a stack; n_joined says whether it was completed. */
typedef void (*LuJoinEmit) (const LuStackMessage *message, gpointer user_data);

LuJoin *lu_join_new (LuJoinEmit emit, gpointer user_data);
/* Emits the stacks that still wait. */
void lu_join_free (LuJoin *self);

/* Learns from the stack and emits it, at once or when it is decided. A message that has to wait is
 * copied with its frames; takes its references. */
void lu_join_add (LuJoin *self, const LuStackMessage *message);
/* Emits stacks that have waited for too long. now: time of the newest sample, ns. */
void lu_join_expire (LuJoin *self, guint64 now);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJoin, lu_join_free)
