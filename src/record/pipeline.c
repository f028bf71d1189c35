/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pipeline.c - wires source, engine and sink; see pipeline.h.
 *
 * Three threads carry samples: drain (rings, processes, unwinding in place), worker (files,
 * libdwfl) for what the drain must not do, and writer (sink). */

#include "config.h"

#include "pipeline.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/leaks.h"
#include "base/priority.h"
#include "symbolize/kallsyms.h"
#include "worker.h"

#include <errno.h>
#include <sys/eventfd.h>

/* Room for samples while the worker reads a large file; untouched memory costs nothing. */
#define WORKER_QUEUE_BYTES (32u << 20)
#define ANSWER_QUEUE_BYTES (4u << 20)
/* Half a minute of stacks at 1 kHz on two CPUs, as the output may block for a while. */
#define WRITER_QUEUE_BYTES (32u << 20)

/* How long the writer waits for the worker, and the end for what it has not done yet, if the source
 * is live: a stop takes a second at most. Files that take longer may be on a file system that never
 * answers, or belong to an enemy. */
#define WORKER_PATIENCE_MS 500
/* The limits of a stop in which rows from code are waited for, and of that wait. */
#define STOP_MS          900
#define ROWS_PATIENCE_MS 500

struct _LuPipeline
{
  LuPipelineOptions options;
  LuSourceInfo source_info;
  guint64 start_time; /* ns, of the recording: no event is earlier */
  gint64 wall_clock;  /* us since the epoch, at start_time */
  LuQueue *to_worker, *from_worker, *to_writer;
  LuCopySize *copy_size;
  LuUnwinder *unwinder;     /* until the worker takes it */
  LuMemoryReader *prefault; /* NULL: the source is not live */
  LuLentStacks *lent;       /* NULL: likewise */
  LuWorker *worker;         /* NULL before start */
  LuWriter *writer;
  LuDrain *drain;
  LuKernelWalks *kernel_walks; /* NULL: none were asked for */
  LuTables *tables;            /* NULL: none, or before start */
  int over_fd;
  gboolean is_stuck;
  gint64 start_us, stop_us; /* 0: not yet */
  guint64 cpu_ns_at_start, cpu_ns_at_stop;
};

static void
note_beginning (LuPipeline *self, LuSource *source)
{
  LuSourceInfo *info = &self->source_info;

  source->ops->get_info (source, info);
  info->trouble = NULL; /* known at the end only */
  self->start_time = info->live ? lu_monotonic_ns () : info->start_time;
  self->wall_clock = g_get_real_time ();
}

/* Returns -1, no limit, for a file that is replayed. */
static int
worker_patience_ms (const LuPipeline *self)
{
  return self->source_info.live && !self->options.is_patient ? WORKER_PATIENCE_MS : -1;
}

static void
make_writer (LuPipeline *self)
{
  self->writer = lu_writer_new (self->to_writer, self->from_worker, self->copy_size,
                                self->options.join, self->over_fd);
  lu_writer_set_patience (self->writer, worker_patience_ms (self));
  if (self->options.native_frames)
    lu_writer_keep_native_frames (self->writer);
}

static void
make_drain (LuPipeline *self, LuSource *source_taken)
{
  const LuPipelineOptions *options = &self->options;
  LuDispatch *dispatch = lu_dispatch_new (self->to_worker, self->to_writer, self->copy_size,
                                          options->engine->walks_in_drain, self->source_info.live);

  if (options->kernel_walks != NULL && options->kernel_walks->wanted == LU_KERNEL_WALKS_CHECKED)
    lu_dispatch_compare_engines (dispatch);
  if (self->prefault != NULL)
    lu_dispatch_use_memory_reader (dispatch, self->prefault);
  lu_dispatch_use_lent_stacks (dispatch, self->lent);
  self->drain = lu_drain_new (source_taken, dispatch, self->writer, &options->drain, self->over_fd);
  lu_drain_use_memory_reader (self->drain, self->prefault);
}

/* A thread loads the BPF program while the rest is made. */
static void
make_threads (LuPipeline *self, LuSource *source_taken)
{
  const LuPipelineOptions *options = &self->options;

  if (options->kernel_walks != NULL)
    self->kernel_walks =
        lu_kernel_walks_new (options->kernel_walks, source_taken, options->drain.follow_all);
  note_beginning (self, source_taken);
  if (self->source_info.live)
    {
      self->prefault = lu_memory_reader_new ();
      self->lent = lu_lent_stacks_new (lu_kallsyms_open ("/proc/kallsyms", NULL));
    }
  self->to_worker = lu_queue_new (WORKER_QUEUE_BYTES);
  self->from_worker = lu_queue_new (ANSWER_QUEUE_BYTES);
  self->to_writer = lu_queue_new (WRITER_QUEUE_BYTES);
  self->copy_size =
      lu_copy_size_new (source_taken, self->source_info.stack_size, options->grow_stack);
  self->options.drain.copy_size = self->copy_size;
  make_writer (self);
  make_drain (self, source_taken);
  if (options->runs_ahead)
    lu_drain_run_ahead (self->drain, self->kernel_walks != NULL
                                         ? lu_kernel_walks_loaded_fd (self->kernel_walks)
                                         : -1);
  if (self->kernel_walks != NULL)
    lu_kernel_walks_attach (self->kernel_walks, lu_drain_source (self->drain));
  self->options.kernel_walks = NULL; /* it was borrowed */
}

LuPipeline *
lu_pipeline_new (LuSource *source_taken, const LuPipelineOptions *options, GError **error)
{
  g_autoptr (LuSource) source = source_taken;
  LuUnwinder *unwinder = options->engine->new (error);
  LuPipeline *self;
  int over_fd;

  if (unwinder == NULL)
    return NULL;
  over_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (over_fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "eventfd: %s", g_strerror (errno));
      lu_unwinder_free (unwinder);
      return NULL;
    }
  self = g_new0 (LuPipeline, 1);
  self->options = *options;
  self->over_fd = over_fd;
  self->unwinder = unwinder;
  make_threads (self, g_steal_pointer (&source));
  return self;
}

static void
free_worker_and_what_it_uses (LuPipeline *self)
{
  lu_worker_free (self->worker);
  lu_unwinder_free (self->unwinder);
  lu_memory_reader_free (self->prefault);
  lu_lent_stacks_free (self->lent);
  lu_tables_free (self->tables);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->from_worker);
  lu_queue_free (self->to_writer);
}

/* A stuck thread may keep the process alive. Everything that the thread does not use is freed all
 * the same: the events stop sampling, and a reader finds its pipe closed. */
void
lu_pipeline_free (LuPipeline *self)
{
  if (self == NULL)
    return;
  lu_drain_free (self->drain); /* its events run the program, so it goes first */
  lu_kernel_walks_free (self->kernel_walks);
  lu_writer_free (self->writer);
  lu_copy_size_free (self->copy_size);
  if (self->is_stuck)
    {
      lu_worker_abandon (self->worker);
      lu_leaks_allow (); /* it may end all the same, and then nothing leads to what it used */
    }
  else
    free_worker_and_what_it_uses (self);
  lu_fd_clear (&self->over_fd);
  g_free (self);
}

const LuSourceInfo *
lu_pipeline_source_info (const LuPipeline *self)
{
  return &self->source_info;
}

const LuKernelWalks *
lu_pipeline_kernel_walks (const LuPipeline *self)
{
  return self->kernel_walks;
}

void
lu_pipeline_describe (const LuPipeline *self, LuRecording *recording)
{
  const LuSourceInfo *info = &self->source_info;
  gboolean is_bpf = self->kernel_walks != NULL && lu_kernel_walks_is_active (self->kernel_walks);

  *recording = (LuRecording){ .start_time = self->start_time,
                              .wall_clock = self->wall_clock,
                              .engine = is_bpf ? "bpf" : self->options.engine->name,
                              .live = info->live,
                              .events = info->events,
                              .n_events = info->n_events,
                              .frequency = info->frequency,
                              .stack_size = info->stack_size,
                              .has_chains_only = info->has_chains_only };
}

gboolean
lu_pipeline_begin (LuPipeline *self, LuSink *sink, LuRotation *rotation,
                   const LuRecording *recording, GError **error)
{
  return lu_writer_begin (self->writer, sink, rotation, recording, error);
}

static void
make_worker (LuPipeline *self, LuStore *store_taken)
{
  const LuPipelineOptions *options = &self->options;
  gboolean live = self->source_info.live;

  if (options->table_memory != 0)
    self->tables = lu_tables_new (store_taken, options->table_memory);
  else
    lu_store_free (store_taken);
  self->worker = lu_worker_new (
      g_steal_pointer (&self->unwinder),
      &(LuWorkerOptions){ .input = self->to_worker,
                          .output = self->from_worker,
                          .places = self->to_writer,
                          .tables = self->tables,
                          .prefault = self->prefault,
                          .lent = self->lent,
                          .copy_size = self->kernel_walks != NULL ? self->copy_size : NULL,
                          .live = live,
                          .drops_cfi = live && options->engine == &lu_unwinder_table,
                          .own_mounts_are_known = options->own_mounts_are_known });
}

gboolean
lu_pipeline_start (LuPipeline *self, LuStore *store_taken, GError **error)
{
  make_worker (self, store_taken);
  if (self->kernel_walks != NULL)
    {
      lu_kernel_walks_start (self->kernel_walks, self->tables);
      lu_drain_set_maps (self->drain, lu_kernel_walks_maps (self->kernel_walks));
    }
  lu_writer_start (self->writer);
  lu_worker_start (self->worker);
  if (!lu_drain_start (self->drain, error))
    {
      lu_queue_close (self->to_worker);
      lu_queue_close (self->to_writer);
      return FALSE;
    }
  self->start_us = g_get_monotonic_time ();
  self->cpu_ns_at_start = lu_process_cpu_ns ();
  return TRUE;
}

int
lu_pipeline_over_fd (const LuPipeline *self)
{
  return self->over_fd;
}

/* Returns how long a stop waits for rows from code: as short recordings of a large file would leave
 * none for the next ones, but within a second in all. */
static guint
rows_patience_ms (const LuPipeline *self)
{
  gint64 spent_ms = (g_get_monotonic_time () - self->stop_us) / 1000;
  gint64 left_ms = STOP_MS - self->options.tables_patience_ms - spent_ms;

  return (guint) CLAMP (left_ms, 0, ROWS_PATIENCE_MS);
}

void
lu_pipeline_stop (LuPipeline *self)
{
  lu_drain_stop (self->drain);
  self->stop_us = g_get_monotonic_time ();
  self->is_stuck = !lu_worker_join (self->worker, worker_patience_ms (self));
  self->cpu_ns_at_stop = lu_process_cpu_ns ();
  lu_writer_join (self->writer);
  if (self->tables != NULL)
    lu_tables_stop (self->tables, self->options.tables_patience_ms, rows_patience_ms (self));
}

gboolean
lu_pipeline_is_stuck (const LuPipeline *self)
{
  return self->is_stuck;
}

gboolean
lu_pipeline_finish (LuPipeline *self, const char *const *metadata, GError **error)
{
  guint64 end_time = self->source_info.live ? lu_monotonic_ns () : 0;
  g_autofree char *last_line =
      self->options.drain.log_progress ? lu_drain_progress_line (self->drain) : NULL;

  return lu_writer_finish (self->writer, end_time, last_line, metadata, error);
}

double
lu_pipeline_seconds (const LuPipeline *self)
{
  gint64 end = self->stop_us != 0 ? self->stop_us : g_get_monotonic_time ();

  return self->start_us != 0 ? (double) (end - self->start_us) / G_USEC_PER_SEC : 0.0;
}

void
lu_pipeline_get_progress (const LuPipeline *self, LuCounters *drain, LuWriterProgress *written)
{
  if (drain != NULL)
    {
      *drain = (LuCounters){ 0 };
      lu_drain_add_counters (self->drain, drain);
    }
  if (written != NULL)
    lu_writer_get_progress (self->writer, written);
}

guint32
lu_pipeline_stack_size (const LuPipeline *self)
{
  return lu_copy_size_get (self->copy_size);
}

guint64
lu_pipeline_bytes_written (const LuPipeline *self)
{
  return lu_writer_bytes_written (self->writer);
}

void
lu_pipeline_get_statistics (LuPipeline *self, LuPipelineStatistics *statistics)
{
  LuSource *source = lu_drain_source (self->drain);

  *statistics = (LuPipelineStatistics){
    .stacks = lu_writer_statistics (self->writer),
    .cpu_ns = self->cpu_ns_at_stop - self->cpu_ns_at_start,
  };
  source->ops->get_info (source, &statistics->source);
  lu_drain_add_counters (self->drain, &statistics->counters);
  lu_counters_add (&statistics->counters, &statistics->stacks->counters);
  lu_counters_add (&statistics->counters, lu_worker_counters (self->worker));
  if (self->tables != NULL)
    lu_counters_add (&statistics->counters, lu_tables_counters (self->tables));
  if (self->kernel_walks != NULL)
    lu_kernel_walks_get_stats (self->kernel_walks, &statistics->kernel, &statistics->counters);
}
