/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* waiters.h - the part of a chain that does not run, but waits for what runs: coroutines of
 * asyncio's tasks (LU_INTERP_AWAITS). */

#pragma once

#include "lu/interp.h"

#include <glib.h>

/* Returns the index of the first frame that waits; n_chain: none does. */
guint lu_waiters_begin (const struct lu_interp_frame *chain, guint n_chain);
/* Puts those that wait into the order of a stack. Each task has its outermost coroutine first; then
 * it has its innermost one first. */
void lu_waiters_turn (struct lu_interp_frame *chain, guint n_chain);
