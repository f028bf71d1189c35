/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-caller.h - judges the words on top of the stack of a leaf in a file that has no unwind
 * information there. Both engines look there for its return address. */

#pragma once

#include "unwind/frame-provider.h"

/* Judges one of these words for a leaf at `pc` in `code`; `data` is for `ops`.
 *
 * FOUND: the return address, into code with unwind information. END: it may be the return address,
 * into code without, generated code, or code that keeps a frame pointer, so that words further up
 * may be that of the leaf's caller; the frame providers decide. NONE: no return address. UNKNOWN:
 * as LuFrameOps. */
LuProviderResult lu_leaf_caller_check (const LuFrameOps *ops, gpointer data,
                                       const LuDwflMapping *code, guint64 pc, guint64 word);
