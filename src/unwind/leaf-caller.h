/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-caller.h - judges the words on top of the stack of a leaf in a file that has no unwind
 * information there. Both engines look there for its return address. */

#pragma once

#include "unwind/frame-provider.h"

typedef struct
{
  const LuDwflMapping *code; /* of the leaf */
  guint64 pc;                /* of the leaf */
  guint64 offset;            /* of the word from the leaf's stack pointer; bytes */
  guint64 value;
  guint64
      by_fp;  /* where the frame pointer has a return address, if it has one; 0: not in the copy */
  guint size; /* of a word; bytes */
} LuLeafWord;

/* Judges a word; `data` is for `ops`.
 *
 * FOUND: the return address, into code with unwind information. An indirect call, or one from
 * another file, may have led to anything, and the word be an old one; so where the leaf may have a
 * frame, its code must show then that its return address is there. END: it may be the return
 * address, into code without unwind information, generated code, or code that keeps a frame
 * pointer, so that words further up may be that of the leaf's caller; the frame providers decide.
 * NONE: no return address. UNKNOWN: as LuFrameOps. */
LuProviderResult lu_leaf_caller_check (const LuFrameOps *ops, gpointer data,
                                       const LuLeafWord *word);
