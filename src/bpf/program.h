/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program.h - the BPF program that walks stacks (bpf/): loaded, attached, looked at.
 *
 * Used by the session. The only place, with the backing of the maps, that knows libbpf; without it
 * at build time nothing can be loaded. What the maps hold is the business of others (maps.h). */

#pragma once

#include "lu/bpf.h"

#include <glib.h>

typedef struct _LuBpfProgram LuBpfProgram;

typedef struct
{
  guint32 flags;         /* of LU_BPF_CHECK, LU_BPF_FOLLOW, LU_BPF_TIME_WALKS, LU_BPF_NO_CACHE */
  guint max_frames;      /* user frames of a stack; 0: LU_BPF_DEFAULT_FRAMES */
  guint64 budget_ns;     /* of a walk; 0: none */
  guint n_cpus;          /* the highest CPU number that is sampled, plus 1 */
  guint max_entries;     /* 1 MiB pieces of memory; 0: LU_BPF_MAX_ENTRIES */
  guint max_processes;   /* that are published at once; 0: as many as may have to be */
  guint32 pid_namespace; /* inode of the one that processes have their numbers in; 0: the initial */
} LuBpfProgramOptions;

typedef enum
{
  LU_BPF_MAP_MEMORY,
  LU_BPF_MAP_SHARED, /* struct lu_bpf_shared */
  LU_BPF_MAP_PROCESSES,
  LU_BPF_MAP_WALKS,
  LU_BPF_MAP_COUNTERS,
  LU_BPF_MAP_OUTPUTS,
  LU_BPF_N_MAPS
} LuBpfMapId;

/* Loads it, on the highest rung that the kernel has (lu_bpf_program_flags()). Signals stay blocked
 * in this thread meanwhile, a second at most: one that arrives makes the kernel give up, and a
 * profiling timer would do so each time. FALSE results name what the kernel refused. */
LuBpfProgram *lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error);
/* Events that it is attached to keep it as long as they are open. */
void lu_bpf_program_free (LuBpfProgram *self);

/* Makes a sampling event (borrowed; any thread's or CPU's) run the program. It stays so until the
 * event is closed. Fails with EPROTO for events with precise_ip that do not record call chains of
 * kernel and user both. */
gboolean lu_bpf_program_attach (LuBpfProgram *self, int event_fd, GError **error);
/* The event of PERF_COUNT_SW_BPF_OUTPUT that takes the records of a CPU; borrowed, the map keeps it
 * open until the program is freed. */
gboolean lu_bpf_program_set_output (LuBpfProgram *self, guint cpu, int output_fd, GError **error);

/* Borrowed. */
int lu_bpf_program_map_fd (const LuBpfProgram *self, LuBpfMapId map);
/* A map of one value or one per CPU, all of it; readable and writable, or NULL with errno set.
 * *size: its bytes, for munmap(). Not for MEMORY, PROCESSES, WALKS and OUTPUTS. */
gpointer lu_bpf_program_mmap (const LuBpfProgram *self, LuBpfMapId map, gsize *size);
/* New pieces of memory at these places, all zeros: the words of each, LU_BPF_ENTRY_BYTES of them,
 * mapped for reading and writing, and what it takes by the kernel's figure. Returns how many there
 * are, the first ones; fewer than n: errno is set. Waits for the kernel, some 10 ms, once if it
 * knows how (5.16); the first LU_BPF_FIRST_ENTRIES places were begun before loading, and wait less.
 * At most LU_BPF_ENTRIES_AT_ONCE. One thread at a time. */
#define LU_BPF_FIRST_ENTRIES   1
#define LU_BPF_ENTRIES_AT_ONCE 16
guint lu_bpf_program_add_entries (LuBpfProgram *self, const guint32 *places, guint n,
                                  guint32 **words, guint64 *bytes);
/* Takes it out again; what was mapped stays until munmap(). FALSE with errno set. */
gboolean lu_bpf_program_remove_entry (const LuBpfProgram *self, guint entry);

/* Of struct lu_bpf_shared, whose map ends behind them. */
guint lu_bpf_program_n_identities (const LuBpfProgram *self);
/* As it was loaded: enum lu_bpf_config_flags. */
guint32 lu_bpf_program_flags (const LuBpfProgram *self);
/* Instructions that the kernel looked at to verify it; 0 if it does not say (before 5.16). */
guint lu_bpf_program_verified (const LuBpfProgram *self);
/* Adds up the counters of all CPUs; the last failure is any CPU's. Any thread. */
void lu_bpf_program_sum (const LuBpfProgram *self, struct lu_bpf_counters *sum);
/* Bytes of kernel memory of the maps made here; the pieces of memory are not among them. */
guint64 lu_bpf_program_memory (const LuBpfProgram *self);
/* The same of any map; 0 if the kernel does not say. */
guint64 lu_bpf_map_memory (int map_fd);

/* From here on the kernel counts runs and their time, of all programs on the machine; until it is
 * freed. FALSE with errno set (it is there from 5.8 on). */
gboolean lu_bpf_program_count_runs (LuBpfProgram *self);
/* So far; FALSE with errno set. */
gboolean lu_bpf_program_runs (const LuBpfProgram *self, guint64 *n_runs, guint64 *total_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuBpfProgram, lu_bpf_program_free)
