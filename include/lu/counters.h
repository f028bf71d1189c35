/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* counters.h - the one list of what a recording counts.
 *
 * The BPF program counts into an array indexed by LuCounter, user space into LuCounters
 * (base/counters.h); the summary's JSON shows everything here that has a group. To add a counter,
 * see docs/HOWTO-add-a-counter.md. */

#pragma once

/* X (NAME, GROUP, key, meaning)
 *   GROUP   object of the JSON that shows it (LuCounterGroup)
 *   key     its key there
 *   meaning one sentence
 *
 * The BPF program's counters come first, as it has memory only for these. */
#define LU_BPF_COUNTER_LIST(X)                                                                     \
  X (BPF_FRAMES, KERNEL_WALKS, "frames", "User frames of stacks unwound by BPF.")                  \
  X (BPF_INFERRED, KERNEL_WALKS, "guessed_frames", "Of these, frames found by frame pointer.")     \
  X (BPF_KERNEL_MODE, KERNEL_WALKS, "in_kernel_mode",                                              \
     "Stacks unwound by BPF of samples that hit the kernel.")                                      \
  X (BPF_VMAS, KERNEL_WALKS, "by_kernel_mappings",                                                 \
     "Stacks unwound by BPF with the kernel's own mappings of the process.")                       \
  X (BPF_REMEMBERED, HIDDEN, "remembered",                                                         \
     "Frames whose rule BPF still had from an earlier walk.")                                      \
  X (BPF_BYTES, HIDDEN, "bytes", "Bytes of the records of stacks unwound by BPF.")                 \
  X (BPF_UNANNOUNCED, HIDDEN, "unannounced",                                                       \
     "Arguments of an exec that found no room in the ring.")                                       \
  X (BPF_CHAINS, KERNEL_WALKS, "chains", "Chains of an interpreter's functions.")                  \
  X (BPF_CHAINS_BROKEN, KERNEL_WALKS, "chains_broken",                                             \
     "Of these, with a frame that could not be read.")                                             \
  X (BPF_CHAINS_CUT, KERNEL_WALKS, "chains_cut", "Of these, with too many functions.")             \
  X (BPF_CHAINS_LOST, KERNEL_WALKS, "chains_lost", "Chains that found no room in the ring.")       \
  X (BPF_CHAINS_EMPTY, KERNEL_WALKS, "chains_empty", "Threads that ran no function.")              \
  X (BPF_CHAINS_NO_THREAD, KERNEL_WALKS, "chains_no_thread",                                       \
     "Threads that their interpreter does not know, or that could not be found.")                  \
  X (BPF_FUNCTIONS, KERNEL_WALKS, "functions", "Functions announced with their names.")            \
  X (BPF_FUNCTIONS_UNREADABLE, KERNEL_WALKS, "functions_unreadable",                               \
     "Functions in chains whose code object could not be read.")

#define LU_COUNTER_LIST(X)                                                                         \
  LU_BPF_COUNTER_LIST (X)                                                                          \
                                                                                                   \
  X (RECORDS, HIDDEN, "records", "Records decoded, of all kinds.")                                 \
  X (SAMPLE_BYTES, HIDDEN, "sample_bytes", "Bytes of sample records, with registers and stack.")   \
  X (BPF_UNWOUND_BYTES, HIDDEN, "bpf_unwound_bytes", "Bytes read of stacks unwound by BPF.")       \
  X (TASK_CLOCK_NS, HIDDEN, "task_clock_ns", "CPU time of what was sampled; 0: unknown.")          \
  X (ACCOUNTED_NS, HIDDEN, "accounted_ns",                                                         \
     "CPU time of the recorded processes by their accounts; 0: unknown.")                          \
  X (OLD_CHILDREN, HIDDEN, "old_children",                                                         \
     "Ended children of recorded processes, themselves not recorded.")                             \
  X (LOST_SAMPLES, HIDDEN, "lost_samples",                                                         \
     "Samples that the kernel lost; a lower bound without LuSourceInfo.has_lost_counter.")         \
  X (LOST_SIDEBAND, LOST, "sideband", "Records lost in side-band rings.")                          \
  X (MALFORMED, LOST, "malformed", "Records that could not be decoded.")                           \
  X (CPU_CHANGES, RECORDING, "cpu_changes", "Times that CPUs came or went.")                       \
                                                                                                   \
  X (SEEN, HIDDEN, "seen", "Samples of any process.")                                              \
  X (OWN, RECORDING, "own_samples", "Of these, samples of live-unwinder itself, left out.")        \
  X (NOT_RECORDED, RECORDING, "other_samples",                                                     \
     "Of these, samples of processes that are not recorded.")                                      \
  X (TAKEN, HIDDEN, "taken", "Of these, the recorded ones.")                                       \
  X (THROTTLED, RECORDING, "throttled", "Times that the kernel throttled sampling on a CPU.")      \
  X (STACK_GROWN, STACK, "grown", "Times that the stack copy was made larger.")                    \
  X (FINISHED_IN_DRAIN, WALKS, "in_place", "Stacks unwound in the drain, from copies.")            \
  X (SENT_TO_WORKER, WALKS, "by_worker", "Samples given to the worker.")                           \
  X (REFUSED_BY_WORKER, WALKS, "refused",                                                          \
     "Samples that the worker had no room for (over budget).")                                     \
  X (FILES_WAITED, WALKS, "files_waited",                                                          \
     "Files that were opened later because their process or user had used its time.")              \
  X (PREFAULTS_STOPPED, WALKS, "prefaults_stopped",                                                \
     "1 if a page of a sampled stack was never answered, so that no further page is prefaulted.")  \
  X (DROPPED_SIDEBAND, LOST, "over_budget", "Side-band given up because a queue had no room.")     \
  X (BPF_UNWOUND, KERNEL_WALKS, "stacks", "Stacks unwound by BPF.")                                \
  X (STALE, KERNEL_WALKS, "stale", "Of these, with mappings other than those of their time.")      \
  X (UNMAPPED, KERNEL_WALKS, "strange", "Of these, with a frame that is in no mapping.")           \
                                                                                                   \
  X (SAMPLES, RECORDING, "samples", "Samples written.")                                            \
  X (LIVE_READS, RECORDING, "live_reads",                                                          \
     "Of these, whole only with a read of the live process; not counted as complete.")             \
  X (JOINED, RECORDING, "joined",                                                                  \
     "Of these, complete only with outer frames of other samples of the thread.")                  \
  X (WITH_FUNCTIONS, RECORDING, "with_functions", "Samples with functions of an interpreter.")     \
  X (FUNCTIONS_PART, RECORDING, "functions_cut",                                                   \
     "Of these, with a stack or a chain of functions that is cut.")                                \
  X (FUNCTIONS_DIFFER, RECORDING, "functions_differ",                                              \
     "Of these, with functions that do not agree with the native stack and were left out.")        \
  X (FUNCTIONS_UNNAMED, RECORDING, "functions_unnamed", "Functions in stacks without a name.")     \
  X (INFERRED, RECORDING, "guessed",                                                               \
     "Of these, complete only with frames found by frame pointer.")                                \
  X (DERIVED, RECORDING, "from_code",                                                              \
     "Of these, complete only with frames found by rows from the code itself.")                    \
  X (DERIVED_FRAMES, RECORDING, "from_code_frames", "Frames found by rows from the code itself.")  \
  X (INFERRED_FRAMES, RECORDING, "guessed_frames", "Frames found by frame pointer.")               \
  X (STACK_USED_MAX, STACK, "used_max", "Bytes: the furthest read of a stack that succeeded.")     \
  X (STACK_NEEDED_MAX, STACK, "needed_max", "Bytes: the furthest read beyond a truncated copy.")   \
                                                                                                   \
  X (COMPARED, CHECK, "compared", "Samples unwound by two engines (--engine check).")              \
  X (FRAMES_DIFFER, CHECK, "frames_differ", "Of these, with different frames.")                    \
  X (STATES_DIFFER, CHECK, "states_differ", "Of these, with equal frames but another end state.")  \
  X (BPF_COMPARED, CHECK_BPF, "kernel_compared", "Stacks unwound by BPF that were compared.")      \
  X (BPF_DIFFER, CHECK_BPF, "kernel_differ", "Of these, different from one of the engines.")       \
  X (KERNEL_FRAMES_COMPARED, CHECK_BPF, "kernel_frames_compared",                                  \
     "Of these, the ones with frames of the kernel itself.")                                       \
  X (KERNEL_FRAMES_DIFFER, CHECK_BPF, "kernel_frames_differ",                                      \
     "Of these, with different frames of the kernel.")                                             \
                                                                                                   \
  X (MAPS_MEMORY, MAPS, "memory_bytes", "Bytes of all BPF maps, as the kernel counts them.")       \
  X (MAPS_ENTRIES, MAPS, "entries", "Pieces of 1 MiB in use for tables and mappings.")             \
  X (MAPS_ENTRIES_MAX, MAPS, "entries_max", "Pieces of 1 MiB that the budget allows.")             \
  X (MAPS_TABLE_BYTES, MAPS, "table_bytes", "Bytes of published tables: page indexes and rows.")   \
  X (MAPS_MAPPING_BYTES, MAPS, "mapping_bytes", "Bytes of published mappings.")                    \
  X (MAPS_TABLES, MAPS, "tables", "Tables that are published now.")                                \
  X (MAPS_RULES, MAPS, "rules", "Rules in the dictionary now.")                                    \
  X (MAPS_PROCESSES, MAPS, "processes", "Processes that are published now.")                       \
  X (MAPS_PROCESS_UPDATES, HIDDEN, "process_updates",                                              \
     "Changes of the kernel's hash of processes.")                                                 \
  X (MAPS_PUBLISHED, MAPS, "published", "Tables published so far.")                                \
  X (MAPS_EVICTED, MAPS, "evicted", "Of these, removed for lack of room.")                         \
  X (MAPS_REFUSED_TABLES, MAPS, "refused_tables", "Tables there was no room for.")                 \
  X (MAPS_REFUSED_RULES, MAPS, "refused_rules",                                                    \
     "Rules published as complex because the dictionary was full.")                                \
  X (MAPS_REFUSED_MODULES, MAPS, "refused_modules",                                                \
     "Modules without a slot, or too large for an index.")                                         \
  X (MAPS_REFUSED_MAPPINGS, MAPS, "refused_mappings", "Address spaces there was no room for.")     \
  X (MAPS_REFUSED_PROCESSES, MAPS, "refused_processes", "Processes there was no room for.")        \
                                                                                                   \
  X (TABLES_LOADED, TABLES, "loaded", "Tables of whole files read from the store.")                \
  X (TABLES_BUILT, TABLES, "built", "Tables of whole files compiled.")                             \
  X (TABLES_EXTENDED, TABLES, "from_code",                                                         \
     "Of these, tables with rows from the code itself, where there is no CFI.")                    \
  X (TABLES_EVICTED, TABLES, "evicted", "Tables dropped from memory because of the budget.")       \
  X (TABLES_STORED, TABLES, "stored", "Tables written to the store.")                              \
  X (TABLES_REFUSED, TABLES, "refused", "Stored tables that could not be used.")                   \
  X (TABLES_MISSES, TABLES, "single_rules", "Rules that were compiled on their own.")              \
  X (TABLES_BYTES, TABLES, "bytes", "Bytes of tables in memory now.")                              \
  X (TABLES_BYTES_MAX, TABLES, "bytes_max", "Bytes of tables in memory at most.")

/* clang-format off */
typedef enum
{
#define X(NAME, GROUP, key, meaning) LU_COUNTER_##NAME,
  LU_COUNTER_LIST (X)
#undef X
  LU_N_COUNTERS
} LuCounter;

enum
{
#define X(NAME, GROUP, key, meaning) + 1
  LU_N_BPF_COUNTERS = 0 LU_BPF_COUNTER_LIST (X)
#undef X
};
/* clang-format on */

/* Where the JSON shows a counter. */
typedef enum
{
  LU_COUNTER_GROUP_HIDDEN,    /* nowhere: only figures that are computed from it are shown */
  LU_COUNTER_GROUP_RECORDING, /* the top level */
  LU_COUNTER_GROUP_LOST,
  LU_COUNTER_GROUP_WALKS,
  LU_COUNTER_GROUP_STACK,
  LU_COUNTER_GROUP_CHECK,        /* "check", if engines were compared */
  LU_COUNTER_GROUP_CHECK_BPF,    /* "check", if stacks unwound by BPF were compared */
  LU_COUNTER_GROUP_KERNEL_WALKS, /* "kernel_walks", if there are any */
  LU_COUNTER_GROUP_MAPS,         /* likewise */
  LU_COUNTER_GROUP_TABLES,
} LuCounterGroup;
