/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* program.h - loads and attaches the BPF program that unwinds stacks (bpf/), and reads its
 * counters.
 *
 * Only this room knows libbpf; without it at build time nothing can be loaded. maps.h fills the
 * maps. */

#pragma once

#include "lu/bpf.h"

#include <glib.h>

typedef struct _LuBpfProgram LuBpfProgram;

typedef struct
{
  guint32 flags;         /* LU_BPF_CHECK, _FOLLOW, _TIME_WALKS, _NO_CACHE and _ARGUMENTS */
  guint max_frames;      /* user frames of a stack; 0: LU_BPF_DEFAULT_FRAMES */
  guint64 budget_ns;     /* of a walk; 0: none */
  guint n_cpus;          /* the highest CPU number that is sampled, plus 1 */
  guint max_entries;     /* 1 MiB pieces of memory; 0: LU_BPF_MAX_ENTRIES */
  guint max_processes;   /* published at a time; 0: chosen by the number of CPUs */
  guint32 pid_namespace; /* inode of the namespace of process numbers; 0: the initial one */
} LuBpfProgramOptions;

typedef enum
{
  LU_BPF_MAP_MEMORY,
  LU_BPF_MAP_SHARED, /* struct lu_bpf_shared */
  LU_BPF_MAP_PROCESSES,
  LU_BPF_MAP_WALKS,
  LU_BPF_MAP_COUNTERS,
  LU_BPF_MAP_OUTPUTS,
  LU_BPF_MAP_REPLACEMENT, /* the program that reads interpreters */
  LU_BPF_N_MAPS
} LuBpfMapId;

/* Loads the program with all that the kernel supports (lu_bpf_program_flags()). Blocks signals in
 * this thread meanwhile, for a second at most: a signal makes the kernel give up, and a profiling
 * timer would do so each time. An error says what the kernel refused. */
LuBpfProgram *lu_bpf_program_new (const LuBpfProgramOptions *options, GError **error);
/* Makes lu_bpf_program_want_interpreters() possible after rights have been given up, by a process
 * that keeps the right to load programs. */
void lu_bpf_program_prepare_interpreters (LuBpfProgram *self);
/* Has that process call the next function; later calls do nothing. Any one thread; does not wait.
 */
void lu_bpf_program_want_interpreters (LuBpfProgram *self);
/* Waits until that process is done, if it is wanted; for `ms` at most, or until a signal is
 * handled.
 */
void lu_bpf_program_await_interpreters (const LuBpfProgram *self, int ms);
/* Returns the negative errno for which that process could not load it; 0: it could, or has not yet.
 */
int lu_bpf_program_interpreters_error (LuBpfProgram *self);
/* Puts a program in its place that also reads the functions of interpreters,
 * and shares its maps. Takes as long as loading the first one. Returns 0 or a negative errno. */
int lu_bpf_program_read_interpreters (LuBpfProgram *self);
/* Closes what is needed no more once the program is attached everywhere, the backing has been made
 * (backing-kernel.h), and the process that loads has been started: a recording has few descriptors.
 * Nothing else may be loaded then. Returns FALSE with errno set if it stays as it was. */
gboolean lu_bpf_program_settle (LuBpfProgram *self);
/* Frees the program; events that it is attached to keep it in the kernel while they are open. */
void lu_bpf_program_free (LuBpfProgram *self);

/* Makes a sampling event (borrowed; of any thread or CPU) run the program until the event is
 * closed. Fails with EPROTO for events with precise_ip that do not record call chains of both
 * kernel and user mode. */
gboolean lu_bpf_program_attach (LuBpfProgram *self, int event_fd, GError **error);
/* Sets the PERF_COUNT_SW_BPF_OUTPUT event that takes the records of a CPU. It is borrowed; the map
 * keeps it open until the program is freed. */
gboolean lu_bpf_program_set_output (LuBpfProgram *self, guint cpu, int output_fd, GError **error);

/* Returns the descriptor of a map, borrowed; -1: it is closed. */
int lu_bpf_program_map_fd (const LuBpfProgram *self, LuBpfMapId map);
/* Maps all of a BPF map of one value, or of one per CPU, for reading and writing; not MEMORY,
 * PROCESSES, WALKS or OUTPUTS. Sets *size to its bytes, for munmap(). Returns NULL with errno set
 * on failure. */
gpointer lu_bpf_program_mmap (const LuBpfProgram *self, LuBpfMapId map, gsize *size);

/* Returns the number of identities at the end of struct lu_bpf_shared. */
guint lu_bpf_program_n_identities (const LuBpfProgram *self);
/* Returns the enum lu_bpf_config_flags that the program was loaded with. */
guint32 lu_bpf_program_flags (const LuBpfProgram *self);
/* Returns the number of instructions that the verifier looked at; 0 before Linux 5.16. */
guint lu_bpf_program_verified (const LuBpfProgram *self);
/* Returns that of the program that reads interpreters; 0 if it was not loaded by this process. */
guint lu_bpf_program_verified_with_interpreters (const LuBpfProgram *self);
/* Adds up the counters of all CPUs; the last failure may be of any CPU. Any thread. */
void lu_bpf_program_sum (const LuBpfProgram *self, struct lu_bpf_counters *sum);
/* Returns the bytes of kernel memory of the maps, without the entries of MEMORY. */
guint64 lu_bpf_program_memory (const LuBpfProgram *self);
/* Returns the bytes of kernel memory of any map; 0 if the kernel does not say. */
guint64 lu_bpf_map_memory (int map_fd);

/* Makes the kernel count runs of all BPF programs on the machine, and their time, until the program
 * is freed. Returns FALSE with errno set on failure. Since Linux 5.8. */
gboolean lu_bpf_program_count_runs (LuBpfProgram *self);
/* Reads the runs so far. Returns FALSE with errno set on failure. */
gboolean lu_bpf_program_runs (const LuBpfProgram *self, guint64 *n_runs, guint64 *total_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuBpfProgram, lu_bpf_program_free)
