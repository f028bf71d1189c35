/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pipeline.h - one way of samples: a source's events become stacks in a sink.
 *
 *   source -> drain -> (worker) -> writer -> sink
 *
 * The pipeline owns all of these, the queues between them, the unwind tables and the program that
 * unwinds in the kernel. A recording and the replay of a file each have one. The steps are new,
 * begin, start, stop, finish and free, in this order, on one thread at a time; begin or start may
 * be the last one before free. Rights that only the first two steps need can be given up before
 * start.
 */

#pragma once

#include "drain.h"
#include "kernel-walks.h"
#include "unwind/unwinder.h"

/* A good tables_patience_ms: short recordings leave tables for the next ones, too. */
#define LU_PIPELINE_TABLES_PATIENCE_MS 100

typedef struct _LuPipeline LuPipeline;

typedef struct
{
  const LuUnwinderOps *engine; /* unwinds in user space */
  /* Borrowed during lu_pipeline_new(); NULL: nothing is unwound in the kernel. */
  const LuKernelWalksOptions *kernel_walks;
  LuDrainOptions drain;   /* what it borrows stays until free */
  gsize table_memory;     /* bytes of whole unwind tables; 0: none are made */
  gboolean grow_stack;    /* ask for larger copies when too many are cut off */
  gboolean native_frames; /* of interpreters stay beside their functions */
  gboolean join;          /* complete cut-off stacks from other samples (join.h) */
  gboolean runs_ahead; /* the source samples already: empty its rings while the program is loaded */
  gboolean is_patient; /* leave nothing out for lack of time, also if the source is live */
  gboolean own_mounts_are_known; /* to the reader of the recording */
  guint tables_patience_ms;      /* after stop, for tables that are wanted by then */
} LuPipelineOptions;

/* The results of a pipeline. Pointers are borrowed from it. */
typedef struct
{
  LuCounters counters; /* of all threads */
  const LuStatistics *stacks;
  LuSourceInfo source;
  LuKernelWalksStats kernel; /* all zero: nothing is sampled */
  guint64 cpu_ns;            /* of this process from start to stop, all threads */
} LuPipelineStatistics;

/* Makes everything but the sink, and attaches the BPF program to the source's events if possible
 * (see lu_pipeline_kernel_walks()). Takes the source, also on failure. */
LuPipeline *lu_pipeline_new (LuSource *source, const LuPipelineOptions *options, GError **error);
/* Ends the threads. A worker that hangs in a file system that does not answer is left behind with
 * everything it uses. */
void lu_pipeline_free (LuPipeline *self);

/* Returns what the source said of itself in lu_pipeline_new(). */
const LuSourceInfo *lu_pipeline_source_info (const LuPipeline *self);
/* Returns the BPF program that unwinds, active or not; NULL: the options have none. */
const LuKernelWalks *lu_pipeline_kernel_walks (const LuPipeline *self);
/* Fills in everything but the command and what is redacted. */
void lu_pipeline_describe (const LuPipeline *self, LuRecording *recording);

/* Takes the sink and begins it. rotation: the sink, if it is one (rotation.h); else NULL. */
gboolean lu_pipeline_begin (LuPipeline *self, LuSink *sink, LuRotation *rotation,
                            const LuRecording *recording, GError **error);
/* Starts sampling and all threads. Takes the store; NULL: tables are not kept on disk. */
gboolean lu_pipeline_start (LuPipeline *self, LuStore *store, GError **error);
/* Returns a descriptor that is readable when the source has ended or the output has failed.
 * Borrowed. */
int lu_pipeline_over_fd (const LuPipeline *self);
/* Stops sampling, handles the last samples and joins the threads. */
void lu_pipeline_stop (LuPipeline *self);
/* Returns whether the worker was left behind, so memory that it may use stays. After stop. */
gboolean lu_pipeline_is_stuck (const LuPipeline *self);
/* Writes the last metadata (key, text pairs, ended by NULL) and ends the sink. The error is that of
 * the first failure, also one while recording. */
gboolean lu_pipeline_finish (LuPipeline *self, const char *const *metadata, GError **error);

/* Returns the seconds from start until now or stop; 0 before start. Any thread. */
double lu_pipeline_seconds (const LuPipeline *self);
/* Takes snapshots; any thread, between start and free. Either may be NULL. drain: the counts of
 * drain, dispatch and source. */
void lu_pipeline_get_progress (const LuPipeline *self, LuCounters *drain,
                               LuWriterProgress *written);
/* Returns the size of the copy of a stack now, in bytes. Any thread. */
guint32 lu_pipeline_stack_size (const LuPipeline *self);
/* Returns the bytes that the sink has written. After stop. */
guint64 lu_pipeline_bytes_written (const LuPipeline *self);
/* Collects all results. After stop. */
void lu_pipeline_get_statistics (LuPipeline *self, LuPipelineStatistics *statistics);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuPipeline, lu_pipeline_free)
