/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walker.h - the fast part of the table engine: one sample walked by compiled rules, in place.
 *
 * Used by the drain thread on samples that still lie in the ring, and by the table engine in the
 * worker. It finishes what rules can say and whose end is certain: complete, cut off, another
 * stack, code without a rule above the leaf. Every other sample is unwound anew, from frame 0 and
 * with all registers, by the dwfl engine: modules that are not open yet, complex rules, registers
 * that are not known, leaves without unwind information, return addresses that lead nowhere, 32-bit
 * tasks. So the two engines differ only where a rule does. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "module/code-reader.h"
#include "process/space.h"

#include <glib.h>

typedef struct _LuWalker LuWalker;

/* A walker belongs to one thread. in_drain: it is the one that walks in the rings, of which there
 * is one at a time, and allocates nothing after this; the worker's engine has one of its own. */
LuWalker *lu_walker_new (gboolean in_drain);
void lu_walker_free (LuWalker *self);

/* Fills `stack` (reset by the caller). FALSE: not finished, and what is in `stack` is to be
 * forgotten. Neither locks nor touches files, unless lu_walker_read_code() allows it. The sample
 * has registers and at least one byte of stack, the space is that of its time; `tid` is for
 * book-keeping only. */
gboolean lu_walker_walk (LuWalker *self, gint32 tid, const LuSample *sample, LuSpace *space,
                         LuStack *stack);

/* Lets the CPU fetch what the walk of a later sample will read, as far as can be foreseen: what is
 * read first. To be called before another sample is walked. */
void lu_walker_expect (const LuWalker *self, gint32 tid, const LuSample *sample);

/* Of which module the last walk, which was not finished for that, needs the CFI, which is not
 * there; NULL: none. Borrowed from the space. */
const LuModule *lu_walker_absent (const LuWalker *self);

/* In the worker: what stands in front of return addresses of this process may be read from its
 * files from now on. The reader is borrowed. */
void lu_walker_read_code (LuWalker *self, LuCodeReader *reader, gint32 pid);

/* Rules compiled so far because no cache had them. */
guint64 lu_walker_n_rules_compiled (const LuWalker *self);
/* Frames so far that were compared with the thread's last stack instead of being walked. */
guint64 lu_walker_n_followed (const LuWalker *self);
/* Bytes that hold what was compiled: places in use, rules, common entries. */
gsize lu_walker_table_bytes (const LuWalker *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWalker, lu_walker_free)
