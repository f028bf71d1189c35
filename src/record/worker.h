/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.h - the thread that opens files and runs engines that allocate or read files.
 *
 * It handles the drain's requests in order, so a module is open before a sample needs it, and gives
 * the writer one answer to each. It may wait for the writer; the drain never waits for it. The
 * functions here are the main thread's. */

#pragma once

#include "base/queue.h"
#include "copy-size.h"
#include "lent-stacks.h"
#include "memory-reader.h"
#include "unwind/unwinder.h"

typedef struct _LuWorker LuWorker;

typedef struct
{
  LuQueue *input, *output;  /* requests of the drain, answers to the writer; borrowed */
  LuQueue *places;          /* of these answers, the drain's to the writer; borrowed; NULL: none */
  LuTables *tables;         /* makes whole tables of modules; borrowed; NULL: none are made */
  LuMemoryReader *prefault; /* borrowed; NULL if not live */
  LuLentStacks *lent;       /* borrowed; NULL: no stack was lent */
  LuCopySize *copy_size;    /* grows for samples that wait for rows; borrowed; NULL: it does not */
  gboolean live;            /* as in lu_opener_new() */
  gboolean drops_cfi;       /* as lu_opener_allow_cfi_drop() */
  gboolean own_mounts_are_known; /* as in lu_process_reader_new() */
} LuWorkerOptions;

/* Takes the unwinder. */
LuWorker *lu_worker_new (LuUnwinder *unwinder, const LuWorkerOptions *options);
/* Starts the thread. It ends when the input queue is closed and empty, and then closes the output.
 */
void lu_worker_start (LuWorker *self);
/* Waits for that, for at most patience_ms (-1: no limit): then it opens and unwinds nothing more,
 * and the remaining samples end as "over budget". FALSE: it still hangs, for example in a file
 * system that does not answer, and was left behind; nothing that it uses may ever be freed. */
gboolean lu_worker_join (LuWorker *self, int patience_ms);
/* Gives up a thread that was left behind: nobody waits for it again. It keeps the worker. */
void lu_worker_abandon (LuWorker *self);
void lu_worker_free (LuWorker *self);

/* Returns the counters of its engine, borrowed. Any thread. */
const LuCounters *lu_worker_counters (const LuWorker *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWorker, lu_worker_free)
