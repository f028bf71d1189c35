/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cpu-clocks.h - how much CPU time was used by what is recorded, for the number of samples that are
 * expected. The source that owns the clocks calls them, on its thread. */

#pragma once

#include "base/counters.h"

#include <sys/types.h>

typedef struct
{
  GArray *tasks;     /* array of pid_t: threads that are counted with their descendants; NULL */
  GArray *processes; /* array of pid_t: the same as whole processes, if their accounts in the kernel
                        are to be read as well; NULL */
  gboolean all;      /* the time for which all CPUs are busy instead */
} LuCpuClocksOptions;

typedef struct _LuCpuClocks LuCpuClocks;

/* Opens the clocks, which stand still until start(), with from_exec until the task executes a
 * program. Those that cannot be opened are left out. */
LuCpuClocks *lu_cpu_clocks_new (const LuCpuClocksOptions *options, gboolean from_exec);
void lu_cpu_clocks_free (LuCpuClocks *self);
void lu_cpu_clocks_start (LuCpuClocks *self);
/* Reads the account of processes that may end before stop(); called about once a second. */
void lu_cpu_clocks_look (LuCpuClocks *self);
void lu_cpu_clocks_stop (LuCpuClocks *self);
/* Sets the counters TASK_CLOCK_NS and ACCOUNTED_NS. */
void lu_cpu_clocks_count (LuCpuClocks *self, LuCounters *counters);

/* Returns the CPU time of a process and of all descendants that were waited for, in ns, the latter
 * in steps of 10 ms; 0 if there is no such process. Any thread. */
guint64 lu_cpu_clocks_of_process (pid_t pid);
