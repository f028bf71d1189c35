/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dispatch.h - distributes what the drain reads: stacks and tasks go to the writer; files to open
 * and samples that the drain cannot unwind go to the worker.
 *
 * For everything that goes to the worker a place is kept in the writer's queue, where the worker's
 * answer belongs, so the writer sees everything in the order of the drain. Nothing here waits,
 * except for room for side-band, and nothing is allocated. Drain thread. */

#pragma once

#include "base/queue.h"
#include "copy-size.h"
#include "lent-stacks.h"
#include "memory-reader.h"
#include "messages.h"

typedef struct _LuDispatch LuDispatch;

typedef enum
{
  LU_DISPATCH_DONE,
  LU_DISPATCH_NO_ROOM, /* nothing was taken: offer it again */
} LuDispatchResult;

/* The queues and copy_size are borrowed. unwinds: try here before the worker's engine. live: the
 * sampled processes run now, so a sample that would have to wait too long is lost. */
LuDispatch *lu_dispatch_new (LuQueue *to_worker, LuQueue *to_writer, LuCopySize *copy_size,
                             gboolean unwinds, gboolean live);
void lu_dispatch_free (LuDispatch *self);

/* Ends copies that may have another process's words. Borrowed; NULL: there are none. */
void lu_dispatch_use_lent_stacks (LuDispatch *self, const LuLentStacks *lent);

/* Has missing pages of stacks made present, for later samples. Borrowed. */
void lu_dispatch_use_memory_reader (LuDispatch *self, LuMemoryReader *reader);

/* Unwinds a sample, here or in the worker. The sample may be in a ring. can_wait: it may be offered
 * again if the worker has no room; FALSE: it then ends as "over budget". */
LuDispatchResult lu_dispatch_sample (LuDispatch *self, const LuLocatedEvent *located,
                                     gboolean can_wait);
/* Keeps a chain of functions for the next stack or sample of its CPU and thread. */
void lu_dispatch_keep_chain (LuDispatch *self, const LuEvent *event);
/* Sends a function's announcement to the writer. */
LuDispatchResult lu_dispatch_function (LuDispatch *self, const LuLocatedEvent *located);
/* Sends a stack that BPF unwound to the writer. */
LuDispatchResult lu_dispatch_bpf_unwound (LuDispatch *self, const LuLocatedEvent *located);

/* From now on each stack that BPF unwound comes before the same sample with a copy, and goes to the
 * worker with it, to be compared (bpf-unwound.h). */
void lu_dispatch_compare_engines (LuDispatch *self);
gboolean lu_dispatch_compares_engines (const LuDispatch *self);

void lu_dispatch_open (LuDispatch *self, LuModule *module, gint32 pid, guint64 start, guint64 end);
/* Asks the worker for all of `needs` but MODULES: lu_dispatch_open() sends each of those. */
void lu_dispatch_process (LuDispatch *self, LuProcess *process, LuProcessNeeds needs);
/* An exit, or else a fork. */
void lu_dispatch_task (LuDispatch *self, gboolean is_exit, guint64 time, gint32 pid,
                       gint32 child_pid);
void lu_dispatch_log (LuDispatch *self, guint64 time, const char *text);

/* Stacks so far that ended at a page that was not present; it is made present for later ones. */
guint64 lu_dispatch_n_absent (const LuDispatch *self);

/* Ends a round: wakes the writer if it has slept long enough or has much to do. Returns whether
 * something waits for a later call. */
gboolean lu_dispatch_end_round (LuDispatch *self);
/* Returns whether the worker has something to do. */
gboolean lu_dispatch_has_requests (const LuDispatch *self);
/* Gives back memory that bursts needed; about once a second. */
void lu_dispatch_trim (LuDispatch *self);
/* Tells both receivers that no more will come. */
void lu_dispatch_close (LuDispatch *self);

/* Returns its counters, borrowed. Any thread. */
const LuCounters *lu_dispatch_counters (const LuDispatch *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDispatch, lu_dispatch_free)
