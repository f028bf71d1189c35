/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dispatch.h - where what the drain reads goes: stacks and tasks to the writer; files to open and
 * samples that need more than a walk to the worker.
 *
 * For everything that goes to the worker a place is kept in the writer's queue, where the worker's
 * answer belongs, so the writer sees all in the order of the drain. Nothing here waits for
 * anybody, but for room for side-band, and nothing is allocated. Belongs to the drain thread. */

#pragma once

#include "base/queue.h"
#include "lu/event.h"
#include "process/process.h"

typedef struct _LuDispatch LuDispatch;

typedef enum
{
  LU_DISPATCH_DONE,
  LU_DISPATCH_NO_ROOM, /* nothing was taken: offer it again */
} LuDispatchResult;

/* Snapshots for other threads. */
typedef struct
{
  guint64 walked;      /* stacks finished in the drain */
  guint64 in_kernel;   /* stacks walked in the kernel */
  guint64 stale;       /* of these, with mappings that were no longer those of their time */
  guint64 strange;     /* of these, with a frame that is in no mapping */
  guint64 handed_on;   /* samples given to the worker */
  guint64 over_worker; /* samples the worker had no room for: they end as "over budget" */
  guint64 over_budget; /* side-band given up for want of room */
} LuDispatchProgress;

/* The queues are borrowed. walks: try a walker here before the worker's engine. live: the sampled
 * processes run now, so what has to wait too long is lost. */
LuDispatch *lu_dispatch_new (LuQueue *to_worker, LuQueue *to_writer, gboolean walks, gboolean live);
void lu_dispatch_free (LuDispatch *self);

/* The sample becomes a stack, here or by the worker. It is borrowed, and may lie in a ring.
 * can_wait: it may be offered again if the worker has no room; else it then ends as "over budget".
 */
LuDispatchResult lu_dispatch_sample (LuDispatch *self, const LuEvent *event, LuProcess *process,
                                     LuSpace *space, gboolean can_wait);

/* From now on stacks walked in the kernel come in front of the same samples with copies: they go to
 * the worker with these, to be compared. For tests: allocates. */
void lu_dispatch_pair (LuDispatch *self);
gboolean lu_dispatch_is_pairing (const LuDispatch *self);
/* A stack that was walked in the kernel goes to the writer. Borrowed, as above. */
LuDispatchResult lu_dispatch_walked (LuDispatch *self, const LuEvent *event, LuProcess *process,
                                     LuSpace *space);

void lu_dispatch_open (LuDispatch *self, LuModule *module, gint32 pid, guint64 start, guint64 end);
/* MODULES is not the worker's: each is sent by lu_dispatch_open(). */
void lu_dispatch_process (LuDispatch *self, LuProcess *process, LuProcessNeeds needs);
void lu_dispatch_fork (LuDispatch *self, guint64 time, gint32 pid, gint32 child_pid);
void lu_dispatch_exit (LuDispatch *self, guint64 time, gint32 pid);
void lu_dispatch_log (LuDispatch *self, guint64 time, const char *text);

/* Of the stacks finished here from copies of at least about `stack_size` bytes since the last
 * reset: how many there are, and how many were cut off. The writer sees them all, but later. */
typedef struct
{
  guint32 stack_size;
  guint64 stacks, truncated;
} LuDispatchWindow;

/* Stacks so far that ended at a page that is not present; the worker helps later ones. */
guint64 lu_dispatch_n_absent (const LuDispatch *self);

void lu_dispatch_reset_window (LuDispatch *self, guint32 stack_size);
const LuDispatchWindow *lu_dispatch_window (const LuDispatch *self);

/* At the end of a round: wakes the writer if it has slept long enough, or has much to do. TRUE if
 * something waits for a later call. */
gboolean lu_dispatch_end_round (LuDispatch *self);
/* Whether the worker has something to do. */
gboolean lu_dispatch_has_requests (const LuDispatch *self);
/* About once a second: gives back what bursts needed. */
void lu_dispatch_trim (LuDispatch *self);
/* No more will come. */
void lu_dispatch_close (LuDispatch *self);

/* Any thread. */
void lu_dispatch_get_progress (LuDispatch *self, LuDispatchProgress *progress);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDispatch, lu_dispatch_free)
