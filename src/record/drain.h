/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain.h - the thread that empties the rings: events in, stacks and requests out.
 *
 * It owns the source and the table of processes, and unwinds samples in place. Between reading a
 * record and releasing it the drain waits for nothing; when worker and writer have no room, samples
 * stay in their rings. */

#pragma once

#include "bpf/maps.h"
#include "dispatch.h"
#include "writer.h"

typedef struct
{
  gboolean follow_all; /* every process; else those of `pids` and what they start */
  GArray *pids;        /* of pid_t; borrowed; may be NULL */
  GArray *tids;        /* of pid_t: only these threads are kept; borrowed; may be NULL */
  pid_t command; /* a child that has not executed COMMAND yet; samples before that are ours; 0:
                    none */
  gboolean include_self; /* keep our own samples */
  LuCopySize *copy_size; /* asks for larger copies when too many are cut off; borrowed */
  gboolean log_progress; /* write a line about the progress into the capture every few seconds */
} LuDrainOptions;

typedef struct _LuDrain LuDrain;

/* Takes the source and the dispatch; the writer is borrowed and outlives the drain. ended_fd: an
 * eventfd written once when nothing is left to record; borrowed. */
LuDrain *lu_drain_new (LuSource *source, LuDispatch *dispatch, LuWriter *writer,
                       const LuDrainOptions *options, int ended_fd);
/* Keeps the maps of the BPF program up to date; borrowed, NULL: there are none. Before start, after
 * running ahead. */
void lu_drain_set_maps (LuDrain *self, LuBpfMaps *maps);
/* Has code that programs have copied compared with their files'. Borrowed; before running ahead. */
void lu_drain_use_memory_reader (LuDrain *self, LuMemoryReader *reader);
/* For sources that sample already, before start: finds the processes that run, and empties the
 * rings into the queues until the descriptor is readable (-1: does not wait). */
void lu_drain_run_ahead (LuDrain *self, int until_fd);
/* Finds the processes that run already (live sources), starts sampling and the thread. */
gboolean lu_drain_start (LuDrain *self, GError **error);
/* Stops sampling, reads the last samples, closes the output queues and joins the thread. */
void lu_drain_stop (LuDrain *self);
void lu_drain_free (LuDrain *self);

/* Adds what the drain, the dispatch and the source have counted to *sum. Any thread. After stop,
 * LOST_SAMPLES is exact. */
void lu_drain_add_counters (const LuDrain *self, LuCounters *sum);
/* Returns one line of progress for people, owned by the caller. Drain thread, or after stop. */
char *lu_drain_progress_line (LuDrain *self);
/* Before start and after stop. */
LuSource *lu_drain_source (LuDrain *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDrain, lu_drain_free)
