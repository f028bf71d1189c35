/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary.h - the summary at the end of a recording, as text and as JSON. Main thread; with
 * --rotate the writer's thread makes the summary of each file. */

#pragma once

#include "options.h"
#include "record/pipeline.h"
#include "symbolize/runtimes.h"
#include "viewer.h"

typedef struct
{
  LuCounters counters;            /* of all threads */
  const LuStatistics *statistics; /* borrowed */
  LuSourceInfo source;
  LuKernelWalksStats kernel;    /* all zero: there was nothing to sample */
  guint32 stack_size;           /* bytes asked for per sample at the end */
  double seconds;               /* wall time from enabling to stopping */
  double cpu_seconds;           /* user + system time of all threads and processes of our own */
  double recording_cpu_seconds; /* that part of it from enabling to stopping */
  guint64 expected_samples;     /* from CPU time used and the rate; 0 unknown */
  guint64 max_sample_rate;      /* kernel.perf_event_max_sample_rate at the end, 0 unknown */
  guint64 rss_anon_bytes;
  gboolean has_lost_of_others; /* the lost samples may be of processes that were not recorded */
  char *const *outputs;        /* paths, NULL-terminated; borrowed; NULL: none has a name */
  LuViewer viewer;             /* chosen before rights were given up */
  guint64 output_bytes;        /* of all outputs */
  LuRuntimes runtimes;         /* samples that lack names of functions */
  guint n_files;               /* of each output, with --rotate; else 0 */
} LuSummary;

/* Fills in what the pipeline and the system know, after lu_pipeline_stop(): all but the outputs and
 * the expected samples. */
void lu_summary_init (LuSummary *self, LuPipeline *pipeline);
/* Computes the expected samples, of the whole system (is_all) or of what was recorded.
 * command_cpu_ns: CPU time of COMMAND and of its descendants, 0 if unknown. The kernel's counters
 * of tasks leave a task before it has given back its memory, which is up to a third of the time of
 * a short one; so what COMMAND used as a whole counts, unless the counters saw much more. */
void lu_summary_set_expected (LuSummary *self, gboolean is_all, guint64 command_cpu_ns);
/* Fills in our CPU time and memory again, as of now. helpers_cpu_ns: CPU time of our processes. */
void lu_summary_note_cost (LuSummary *self, guint64 helpers_cpu_ns);
/* Fills in the sampling rate that the kernel allows and our own memory, as of now. */
void lu_summary_note_system (LuSummary *self);
/* One line of JSON, without a newline. Owned. */
char *lu_summary_to_json (const LuSummary *self);
/* Prints two lines to standard error, with lines between them about what the user can act on, and
 * if is_verbose with all details. */
void lu_summary_print (const LuSummary *self, gboolean is_verbose);
/* Prints the details of a verbose summary; for summary.c only. */
void lu_summary_print_details (const LuSummary *self);

/* Figures that text and JSON have in common. */

static inline guint64
lu_summary_count (const LuSummary *self, LuCounter counter)
{
  return lu_counters_get (&self->counters, counter);
}

/* Returns the percentage of all samples that were lost. */
double lu_summary_loss_percent (const LuSummary *self);
/* Returns the samples that are in no output: the kernel lost them, or a queue had no room. */
guint64 lu_summary_lost (const LuSummary *self);
/* Returns the expected samples that neither came nor were lost; negative if more came. Lost samples
 * that may belong to other processes count only up to what is missing. */
gint64 lu_summary_unexplained (const LuSummary *self);
/* Converts our own CPU time in seconds to µs per recorded sample. */
double lu_summary_us_per_sample (const LuSummary *self, double cpu_seconds);
/* Returns the percentage of unwindable stacks that BPF unwound. */
double lu_summary_kernel_percent (const LuSummary *self);
/* Returns the bytes that a sample took in the rings, on average. */
guint64 lu_summary_ring_bytes (const LuSummary *self);
/* Returns the number of walks in the kernel whose time was measured. */
guint64 lu_summary_n_timed (const struct lu_bpf_counters *counters);
/* Returns the time in ns that this share (0 to 1) of them took at most, as the end of its bucket.
 */
guint64 lu_summary_walk_ns (const struct lu_bpf_counters *counters, double share);
/* Returns the size of an output in bytes; 0 if it is unknown, as of a pipe beside other outputs. */
guint64 lu_summary_output_bytes (const LuSummary *self, guint index);
/* Returns 0 if `of` is 0. */
double lu_summary_ratio (guint64 value, guint64 of);
