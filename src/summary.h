/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary.h - what a recording was like: the lines at its end, the same as JSON, and the live
 * status line. */

#pragma once

#include "drain.h"
#include "kernel-walks.h"
#include "module/tables.h"
#include "options.h"
#include "tally.h"
#include "unwind/unwinder.h"

typedef struct
{
  const LuTally *tally; /* borrowed */
  LuDrainProgress drain;
  LuSourceInfo source;
  LuSourceStats source_stats;
  LuTablesStats tables;           /* all zero: there are none */
  LuUnwinderCounts engine_counts; /* all zero: the engine compares nothing */
  LuKernelWalksStats kernel;      /* all zero: there was nothing to sample */
  double seconds;                 /* wall time from enabling to stopping */
  double cpu_seconds;             /* user + system time of this process, all threads */
  double recording_cpu_seconds;   /* that part of it from enabling to stopping */
  guint64 expected_samples;       /* from CPU time used and the rate; 0 unknown */
  guint64 max_sample_rate;        /* kernel.perf_event_max_sample_rate at the end, 0 unknown */
  guint64 rss_anon_bytes;
  const char *output;
  guint64 output_bytes;
  guint n_files; /* of each output, with --rotate; else 0 */
} LuSummary;

/* One line of JSON, without a newline. Owned. */
char *lu_summary_to_json (const LuSummary *self);
/* A screenful of text. */
void lu_summary_print (const LuSummary *self);
/* Lost samples in percent of all there were. */
double lu_summary_loss_percent (const LuSummary *self);
