/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-event.h - opening perf events: attributes, what this kernel can do, and errors people can
 * act on. */

#pragma once

#include <glib.h>
#include <linux/perf_event.h>
#include <sys/types.h>

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4) /* Linux 6.0, commit 119a784c8127 */
#endif

/* Largest copy of the user stack: perf_event_attr.sample_stack_user must be a multiple of 8 and
 * less than USHRT_MAX (perf_copy_attr(), kernel/events/core.c). */
#define LU_STACK_SIZE_MAX 65528
#define LU_STACK_SIZE_MIN 512

/* What the running kernel and our privileges allow; found out by trying. */
typedef struct
{
  gboolean has_lost_counter; /* PERF_FORMAT_LOST, Linux 6.0 */
  gboolean cpu_wide;         /* events of all tasks on a CPU may be opened */
  gboolean kernel;           /* kernel mode may be sampled */
  gboolean hardware;         /* hardware cycles can be had, else cpu-clock is used */
  int error;                 /* errno of the plainest event on ourselves; 0: perf works */
} LuPerfAbilities;

void lu_perf_probe (LuPerfAbilities *abilities);

/* Attributes of the sampling event and of the side-band (dummy) event. */
void lu_perf_sampling_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities,
                            guint frequency, guint32 stack_size);
void lu_perf_sideband_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities);
/* Of the event through which a BPF program writes into the ring of a sampling event with these
 * attributes: both have one clock, and their trailers look alike. */
void lu_perf_output_attr (struct perf_event_attr *attr, const struct perf_event_attr *sampler);
void lu_perf_task_clock_attr (struct perf_event_attr *attr);

/* The system call, close-on-exec. -1 with errno set. */
int lu_perf_open (const struct perf_event_attr *attr, pid_t pid, int cpu);

/* Whether the descriptor is a perf event. */
gboolean lu_perf_is_event (int fd);

/* User registers asked for, by the architecture this is built for. */
guint64 lu_perf_user_registers (void);

/* What the refusal with this errno means here and what to do about it; several lines. Owned. */
char *lu_perf_explain (int error, gboolean cpu_wide);

/* kernel.perf_event_paranoid, or -2 if there is no such file (no perf in this kernel). */
int lu_perf_paranoid (void);
/* kernel.perf_event_mlock_kb in KiB, 0 if unknown. */
guint64 lu_perf_mlock_kb (void);
/* kernel.perf_event_max_sample_rate, 0 if unknown. */
guint64 lu_perf_max_sample_rate (void);
