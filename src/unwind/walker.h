/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.h - the fast part of the table engine: walks one sample by compiled rules.
 *
 * The drain thread uses it on samples that still lie in the ring, the table engine in the worker.
 * It finishes stacks that rules can describe and whose end is certain: complete, cut off, another
 * stack, code without a rule above the leaf. All other samples are unwound from frame 0 by the dwfl
 * engine: those with modules that are not open yet, complex rules, unknown registers, unusual
 * leaves, return addresses that lead nowhere, and 32-bit tasks. So the engines differ only where a
 * rule differs. */

#pragma once

#include "lu/stack.h"
#include "module/code-reader.h"
#include "process/address-space.h"

typedef struct _LuWalker LuWalker;

/* A walker belongs to one thread. in_drain: for the drain thread. There is one such walker at a
 * time, and it allocates nothing after this; the worker's engine has its own. */
LuWalker *lu_walker_new (gboolean in_drain);
void lu_walker_free (LuWalker *self);

/* Fills `stack` (reset by the caller). FALSE: not finished, and `stack` has no valid content.
 * Neither locks nor touches files, unless lu_walker_read_code() allows it. The sample has registers
 * and at least one byte of stack; `space` is the address space at its time; `tid` selects the last
 * stack. */
gboolean lu_walker_walk (LuWalker *self, gint32 tid, const LuSample *sample, LuAddressSpace *space,
                         LuStack *stack);

/* Prefetches what the walk of a later sample will read first. Call this before walking another
 * sample. */
void lu_walker_expect (const LuWalker *self, gint32 tid, const LuSample *sample);

/* How much of a stack stays, and how it ends. */
typedef struct
{
  LuStatus status;
  guint32 n;      /* frames, from the leaf */
  guint64 end_pc; /* as in LuStack */
} LuVerified;

/* Verifies the steps of the walk in the kernel to frames marked LU_FRAME_DERIVED, as
 * lu_walker_walk() verifies its own (derived-step.h), and those to frames marked LU_FRAME_INFERRED
 * from code for which the kernel did not have rows yet. frames: those of the user. `verified` has
 * the end of the whole stack, and gets that of the part that is right. FALSE: only a walker that
 * may read code can tell; the part before that step is right. */
gboolean lu_walker_verify (LuWalker *self, LuAddressSpace *space, const LuFrame *frames,
                           LuVerified *verified);

/* Returns the module whose missing CFI has stopped the last walk, or NULL. Borrowed from the
 * address space. */
const LuModule *lu_walker_absent (const LuWalker *self);

/* Allows the walker to read code from the files of this process; worker thread only. The reader is
 * borrowed. */
void lu_walker_read_code (LuWalker *self, LuCodeReader *reader, gint32 pid);

/* Returns the number of rules compiled so far. */
guint64 lu_walker_n_rules_compiled (const LuWalker *self);
/* Returns the number of frames copied from the thread's last stack so far. */
guint64 lu_walker_n_followed (const LuWalker *self);
/* Returns the bytes used by compiled rules and their cache entries. */
gsize lu_walker_table_bytes (const LuWalker *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWalker, lu_walker_free)
