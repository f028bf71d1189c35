/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* join.h - completes stacks that the copy cut off, from other samples of the same thread.
 *
 * The kernel copies less than 64 KiB of a stack; deep ones lose their outermost frames, which
 * change least of all. A cut-off stack is completed when the frame it ends with (same pc, same
 * stack pointer) is found both in the last whole stack of the thread before it and in the next one
 * after it, and both agree on all frames outside of it: the thread has then almost surely not left
 * that frame in between. The frames added are marked LU_FRAME_GUESSED and the stacks are counted.
 * Everything else stays cut off, under its own name.
 *
 * Belongs to the writer thread. */

#pragma once

#include "messages.h"

typedef struct _LuJoin LuJoin;

/* Takes a stack; n_joined says whether it was completed. */
typedef void (*LuJoinEmit) (const LuStackMessage *message, gpointer user_data);

LuJoin *lu_join_new (LuJoinEmit emit, gpointer user_data);
/* Hands on what is still waiting. */
void lu_join_free (LuJoin *self);

/* Learns from the stack, and hands it on, at once or when it is decided. The message (frames
 * included) is copied where it has to wait, and its references go with it. Room for copies is used
 * again: nothing is allocated once there was as much to do before. */
void lu_join_add (LuJoin *self, const LuStackMessage *message);
/* Hands on what waits for longer than it should (`now`: time of the newest sample, ns). */
void lu_join_expire (LuJoin *self, guint64 now);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJoin, lu_join_free)
