/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-tasks.h - a source that delivers one sample of each thread, running or not, and ends.
 *
 * Threads that do not run come from the kernel's task iterator (bpf/tasks.bpf.c, Linux 5.18), which
 * stops nobody. A thread that runs, or ran while it was read, is read again a few times, and taken
 * from perf events if they hit it first. Side-band comes from these events, too. */

#pragma once

#include "input/source.h"
#include "lu/task.h"

/* A thread that was seen. */
typedef struct
{
  gint32 pid, tid;
  guint32 state; /* TASK_* (linux/sched.h) */
  char comm[LU_TASK_COMM_SIZE];
  gboolean has_sample;  /* a sample was delivered */
  gboolean was_running; /* it ran when it was sampled, or whenever it was looked at */
  guint pass;           /* the last one that saw it */
} LuTask;

/* Loads the program. Fails if the kernel or our rights do not suffice; the error says what to do.
 */
LuSource *lu_source_tasks_new (GError **error);
/* Before start. perf_taken: a source of samples that are copies. pids: of pid_t; NULL: all.
 * threads: of LuTask; the source appends to it while it drains. Both are borrowed until free. */
gboolean lu_source_tasks_set (LuSource *source, LuSource *perf_taken, const GArray *pids,
                              GArray *threads, GError **error);
