/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-walks.h - walks in the kernel, as a recording has them: whether they can be had, the
 * program attached to the source's events, what it reads, and what it counted.
 *
 * Main thread; the maps go to the drain while it runs. */

#pragma once

#include "bpf/ladder.h"
#include "bpf/maps.h"
#include "input/source.h"
#include "options.h"

typedef struct _LuKernelWalks LuKernelWalks;

typedef struct
{
  gboolean is_active;
  const char *reason; /* why, or why not; borrowed */
  guint verified;     /* instructions that the kernel looked at; 0 unknown */
  struct lu_bpf_counters counters;
  guint64 n_runs, run_ns; /* of the program; 0 unless they were measured */
  LuBpfMapsStats maps;
} LuKernelWalksStats;

/* Looks at the kernel and loads the program, in a thread of its own. Never NULL: where there are to
 * be no walks, it is inactive and says why. follow_all: processes are walked whoever they are; else
 * those that are published, and what they start. `options` stay until attach. */
LuKernelWalks *lu_kernel_walks_new (const LuOptions *options, LuSource *source,
                                    gboolean follow_all);
/* An eventfd, readable when attach need not wait; borrowed. */
int lu_kernel_walks_loaded_fd (const LuKernelWalks *self);
/* Attaches the program to all sampling events of the source. Where that cannot be, or the program
 * could not be loaded, it is inactive from now on. Takes rights that are given up before the next
 * call. */
void lu_kernel_walks_attach (LuKernelWalks *self, LuSource *source);
/* From now on what the walks read is kept up to date; a thread is started. `tables` may be NULL;
 * borrowed, and has to stay until free. No-op if it is inactive. */
void lu_kernel_walks_start (LuKernelWalks *self, LuTables *tables);
/* After the sampling events are closed, or without any walk under way. */
void lu_kernel_walks_free (LuKernelWalks *self);

gboolean lu_kernel_walks_is_active (const LuKernelWalks *self);
/* One line for people: what there is, or why there is nothing. */
const char *lu_kernel_walks_reason (const LuKernelWalks *self);
/* What to do about it; NULL: nothing. */
const char *lu_kernel_walks_remedy (const LuKernelWalks *self);
/* NULL before start, or if it is inactive. */
LuBpfMaps *lu_kernel_walks_maps (LuKernelWalks *self);
void lu_kernel_walks_get_stats (LuKernelWalks *self, LuKernelWalksStats *stats);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKernelWalks, lu_kernel_walks_free)
