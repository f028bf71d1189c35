/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* summary-figures.h - what is worked out from the counts of a recording, for its text and its JSON.
 */

#pragma once

#include "summary.h"

/* Samples that are in no output: what the kernel lost, and what was over our budget. */
guint64 lu_summary_lost (const LuSummary *self);
/* Expected samples that neither came nor are lost; negative if more came. */
gint64 lu_summary_unexplained (const LuSummary *self);
/* Our own CPU time, in seconds, in µs for each recorded sample. */
double lu_summary_us_per_sample (const LuSummary *self, double cpu_seconds);
/* Of the stacks that could be unwound at all, those walked in the kernel. */
double lu_summary_kernel_percent (const LuSummary *self);
/* Bytes in the sampling rings, per sample seen. */
guint64 lu_summary_ring_bytes (const LuSummary *self);
/* The walks in the kernel whose time is known. */
guint64 lu_summary_n_timed (const struct lu_bpf_counters *counters);
/* The time that this share (0 to 1) of them took at most, in ns, to a quarter of a doubling. */
guint64 lu_summary_walk_ns (const struct lu_bpf_counters *counters, double share);
/* 0 of nothing is 0. */
double lu_summary_ratio (guint64 value, guint64 of);
