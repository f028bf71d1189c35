/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain.h - the thread that empties the rings: events in, stacks and requests out.
 *
 * It owns the source and the table of processes, and walks samples where they lie. Between reading
 * a record and giving it back it waits for nothing; when the others have no room, samples stay in
 * their rings. */

#pragma once

#include "bpf/maps.h"
#include "dispatch.h"
#include "input/source.h"
#include "writer.h"

typedef struct
{
  gboolean follow_all; /* every process; else those of `pids` and what they start */
  GArray *pids;        /* of pid_t; borrowed; may be NULL */
  GArray *tids;        /* of pid_t: only these threads are kept; borrowed; may be NULL */
  pid_t command; /* a child that has not executed its program yet: nothing before that counts; 0:
                    none */
  gboolean include_self; /* keep our own samples */
  gboolean grow_stack;   /* ask for larger copies when too many are cut off */
  gboolean log_progress; /* a line about it in the capture every few seconds */
} LuDrainOptions;

typedef struct
{
  guint64 seen;         /* samples of any process */
  guint64 own;          /* of these, our own */
  guint64 others;       /* of these, of processes that are not recorded */
  guint64 taken;        /* recorded */
  guint64 walked;       /* of these, finished in the drain */
  guint64 in_kernel;    /* of these, walked in the kernel */
  guint64 stale;        /* of these, with mappings that were no longer those of their time */
  guint64 strange;      /* of these, with a frame that is in no mapping */
  guint64 handed_on;    /* of these, given to the worker */
  guint64 over_worker;  /* of these, "over budget" because the worker had no room */
  guint64 over_budget;  /* side-band there was no room for */
  guint64 throttled;    /* THROTTLE records */
  guint64 lost_samples; /* snapshot of the source's */
  gboolean ended;       /* nothing is left to record */
  guint32 stack_size;   /* asked for now */
  guint stack_grown;    /* times it was grown */
} LuDrainProgress;

typedef struct _LuDrain LuDrain;

/* Takes the source and the dispatch; the writer is borrowed and outlives the drain. ended_fd: an
 * eventfd written once when nothing is left to record; borrowed. */
LuDrain *lu_drain_new (LuSource *source, LuDispatch *dispatch, LuWriter *writer,
                       const LuDrainOptions *options, int ended_fd);
/* Before start, not before running ahead: what walks in the kernel read is kept up to date;
 * borrowed, NULL: there are none. */
void lu_drain_set_maps (LuDrain *self, LuBpfMaps *maps);
/* Before start, for sources that sample already: finds the processes that run, and empties the
 * rings until the descriptor is readable. Nobody need take what comes of that meanwhile, as far as
 * the queues have room. */
void lu_drain_run_ahead (LuDrain *self, int until_fd);
/* Finds the processes that run already (live sources), enables sampling and starts the thread. */
gboolean lu_drain_start (LuDrain *self, GError **error);
/* Stops sampling, reads the rings to their ends, closes the output and joins the thread. */
void lu_drain_stop (LuDrain *self);
void lu_drain_free (LuDrain *self);

/* Any thread; a snapshot. */
void lu_drain_get_progress (LuDrain *self, LuDrainProgress *progress);
/* The same for people, one line. Owned. Drain thread, or after stop. */
char *lu_drain_progress_line (LuDrain *self);
/* Before start and after stop. */
LuSource *lu_drain_source (LuDrain *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDrain, lu_drain_free)
