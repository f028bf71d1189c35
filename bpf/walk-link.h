/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-link.h - the part of a frame-pointer step for architectures with a link register, in place
 * of walk-words.h. Calls leave no return address on the stack, so a caller's frame is set up. A
 * leaf's return address may be in the register, which may hold an old value: the walk falls back.
 */

#pragma once

#include "walk-see.h"

static inline int64_t
go_from_leaf (walk_ref ref, struct walk *walk)
{
  return VERDICT_UNKNOWN;
}

static inline int64_t
find_caller_on_top (walk_ref ref, const struct walk *walk)
{
  return VERDICT_UNKNOWN;
}

static inline int64_t
check_owner_of_frame (walk_ref ref, const struct walk *walk)
{
  return VERDICT_NONE;
}

static inline int64_t
go_by_trampoline (walk_ref ref, const struct walk *walk)
{
  return VERDICT_UNKNOWN;
}
