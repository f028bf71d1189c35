/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* worker.h - the thread that opens files and runs engines that may allocate or read files.
 *
 * It takes requests of the drain in order, so a module is open before a sample needs it, and gives
 * the writer one answer to each. It may wait for the writer; the drain never waits for it. */

#pragma once

#include "base/queue.h"
#include "module/tables.h"
#include "unwind/unwinder.h"

typedef struct _LuWorker LuWorker;

/* input: owned by the drain side; output: to the writer. Both are borrowed. Takes the unwinder.
 * live: as lu_opener_new(). */
LuWorker *lu_worker_new (LuUnwinder *unwinder, LuQueue *input, LuQueue *output, gboolean live);
/* Before start: modules take part in whole tables; borrowed. */
void lu_worker_set_tables (LuWorker *self, LuTables *tables);
/* After that: images need not keep what tables answer for, lu_opener_be_lean(). */
void lu_worker_be_lean (LuWorker *self);
/* Before start: whoever reads the recording knows the mount table of our own namespace. */
void lu_worker_know_own_mounts (LuWorker *self);
/* Ends when the input queue is closed and empty; then closes the output. */
void lu_worker_start (LuWorker *self);
/* Waits for that. FALSE: one request has taken longer than patience_ms by now (-1: none does), as
 * it does in a file system that does not answer; then nothing of this may be freed any more. */
gboolean lu_worker_join (LuWorker *self, int patience_ms);
void lu_worker_free (LuWorker *self);

/* What its engine has counted; all zero if it counts nothing. After lu_worker_join(). */
void lu_worker_get_counts (LuWorker *self, LuUnwinderCounts *counts);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuWorker, lu_worker_free)
