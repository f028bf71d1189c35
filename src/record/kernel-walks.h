/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-walks.h - the BPF program of a recording: whether it can be loaded, its attachment to the
 * source's events, its maps, and its counts.
 *
 * Main thread; the maps go to the drain while it runs. */

#pragma once

#include "bpf/kernel-support.h"
#include "bpf/maps.h"
#include "input/source.h"

typedef struct _LuKernelWalks LuKernelWalks;

/* Says whether stacks are unwound in the kernel. */
typedef enum
{
  LU_KERNEL_WALKS_NEVER,
  LU_KERNEL_WALKS_IF_SAFE, /* where it works and the kernel has no bug that forbids it */
  LU_KERNEL_WALKS_ALWAYS,  /* it is an error if that is impossible */
  LU_KERNEL_WALKS_CHECKED, /* as well as in user space, to compare the stacks */
} LuKernelWalksWanted;

typedef struct
{
  LuKernelWalksWanted wanted;
  gboolean unsafe_kernel;      /* even in a kernel that may lock up */
  gboolean time_walks;         /* have the kernel measure the time */
  guint max_depth;             /* user frames of a stack; 0: the default */
  guint bpf_memory;            /* MiB of tables; 0: the default */
  gboolean early_interpreters; /* read functions of interpreters from the start, because one will
                                  run; otherwise once one is met */
} LuKernelWalksOptions;

typedef struct
{
  gboolean is_active;
  const char *reason;     /* why it is active or not; borrowed */
  int interpreters_error; /* a negative errno: functions of interpreters could not be read; 0 */
  guint verified;         /* instructions that the verifier looked at; 0 unknown */
  struct lu_bpf_counters bpf;
  guint64 n_runs, run_ns; /* runs of the program; 0 unless they were measured */
} LuKernelWalksStats;

/* Probes the kernel and loads the program, in a thread of its own. Never NULL: if nothing can be
 * unwound in the kernel, the object is inactive and says why. follow_all: unwind all processes;
 * else published ones and those they start. options: borrowed until attach. */
LuKernelWalks *lu_kernel_walks_new (const LuKernelWalksOptions *options, LuSource *source,
                                    gboolean follow_all);
/* An eventfd that is readable when attach need not wait; borrowed until then. */
int lu_kernel_walks_loaded_fd (const LuKernelWalks *self);
/* Attaches the program to all sampling events of the source; becomes inactive if that fails or the
 * program could not be loaded. Needs rights, which can be given up before the next call. */
void lu_kernel_walks_attach (LuKernelWalks *self, LuSource *source);
/* Makes the maps and starts the thread that keeps them up to date, if active. tables: borrowed
 * until free; may be NULL. */
void lu_kernel_walks_start (LuKernelWalks *self, LuTables *tables);
/* After the sampling events are closed, so that the program no longer runs. */
void lu_kernel_walks_free (LuKernelWalks *self);

/* Waits until functions of interpreters can be read, if they are from the start
 * (early_interpreters): for some seconds at most, or until a signal is handled. */
void lu_kernel_walks_await_interpreters (const LuKernelWalks *self);

gboolean lu_kernel_walks_is_active (const LuKernelWalks *self);
/* Returns one line for people: what the kernel can do, or why nothing is unwound in it. */
const char *lu_kernel_walks_reason (const LuKernelWalks *self);
/* Whether the kernel's verifier has refused our program, which it does if the program was built in
 * a way that nobody has tried. */
gboolean lu_kernel_walks_is_refused (const LuKernelWalks *self);
/* Returns how the user can mend that; NULL: unknown. */
const char *lu_kernel_walks_remedy (const LuKernelWalks *self);
/* NULL before start, or if inactive. */
LuBpfMaps *lu_kernel_walks_maps (LuKernelWalks *self);
/* Adds what was counted to *sum as well. */
void lu_kernel_walks_get_stats (LuKernelWalks *self, LuKernelWalksStats *stats, LuCounters *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKernelWalks, lu_kernel_walks_free)
