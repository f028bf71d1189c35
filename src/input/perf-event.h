/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-event.h - opens perf events: attributes, abilities of this kernel, and errors that people
 * can act on. */

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

/* Abilities of the running kernel with our privileges, found by trying. */
typedef struct
{
  gboolean has_lost_counter; /* PERF_FORMAT_LOST, Linux 6.0 */
  gboolean cpu_wide;         /* events may be opened for all tasks on a CPU */
  gboolean kernel;           /* kernel mode may be sampled */
  gboolean hardware;         /* hardware cycles are available; otherwise cpu-clock is used */
  gboolean counts_idle;      /* they cannot leave the idle task out */
  int error;                 /* errno of opening the simplest event on ourselves; 0: perf works */
} LuPerfAbilities;

void lu_perf_probe (LuPerfAbilities *abilities);

/* Fill in the attributes of the sampling event and of the side-band (dummy) event. */
void lu_perf_sampling_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities,
                            guint frequency, guint32 stack_size);
void lu_perf_sideband_attr (struct perf_event_attr *attr, const LuPerfAbilities *abilities);
/* Fills in the attributes of the event through which a BPF program writes into the ring of a
 * sampling event: same clock, and trailers that look alike. */
void lu_perf_output_attr (struct perf_event_attr *attr, const struct perf_event_attr *sampler);
void lu_perf_task_clock_attr (struct perf_event_attr *attr);

/* Calls perf_event_open() with close-on-exec. Returns -1 with errno set. */
int lu_perf_open (const struct perf_event_attr *attr, pid_t pid, int cpu);

/* Returns whether the descriptor is a perf event. */
gboolean lu_perf_is_event (int fd);

/* Returns the mask of user registers to sample on the architecture of this build. */
guint64 lu_perf_user_registers (void);

/* The argument of setcap(8) that lets a program record everything. */
#define LU_PERF_CAPABILITIES                                                                       \
  "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_ipc_lock,"                                    \
  "cap_dac_read_search,cap_checkpoint_restore=ep"
/* Options of docker and podman that let a container do so. */
#define LU_PERF_CONTAINER_OPTIONS                                                                  \
  "--cap-add PERFMON --cap-add BPF --cap-add SYS_PTRACE --cap-add SYSLOG --cap-add IPC_LOCK "      \
  "--cap-add DAC_READ_SEARCH --cap-add CHECKPOINT_RESTORE"

/* Explains a refusal with this errno and what to do about it, in several lines. Owned. */
char *lu_perf_explain (int error, gboolean cpu_wide);

/* Returns kernel.perf_event_paranoid, or -2 if there is no such file (no perf in this kernel). */
int lu_perf_paranoid (void);
/* Returns kernel.perf_event_mlock_kb in KiB, or 0 if unknown. */
guint64 lu_perf_mlock_kb (void);
/* Returns kernel.perf_event_max_sample_rate, or 0 if unknown. */
guint64 lu_perf_max_sample_rate (void);
