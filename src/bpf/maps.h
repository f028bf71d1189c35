/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps.h - keeps what the BPF program reads up to date: processes, mappings, tables, rules.
 *
 * The drain thread tells of processes (it neither waits nor allocates here); a thread of its own,
 * "publisher", copies tables of whole files into the maps and brings in memory for both. What is
 * not there, or did not fit, makes the program fall back, so nothing here can fail once it is made:
 * it is counted. A walked record carries the serial number of the space that it was walked with;
 * whether that was the space of its time is for the drain to see.
 *
 * Rights: the publisher creates maps while recording, which takes CAP_BPF (the drain's updates take
 * it up to Linux 5.18), and the calls bpf(2), mmap(2) and membarrier(2). */

#pragma once

#include "bpf/backing.h"
#include "module/tables.h"
#include "process/process-table.h"

typedef struct _LuBpfMaps LuBpfMaps;

/* Budgets in MiB, of all that tables and mappings take. A browser's or a compiler's take 12 to 30.
 */
#define LU_BPF_MEMORY_MIB     64
#define LU_BPF_MEMORY_MIN_MIB 4

typedef struct
{
  guint memory_mib;    /* budget */
  guint64 sampling_ns; /* time between two samples of a CPU, for how long freed memory rests */
  LuTables *tables;    /* borrowed, outlives the maps; NULL: the publisher compiles small files */
  gboolean follow_all; /* most programs that run at the start will never be sampled */
  /* The program goes by the kernel's own mappings where nothing is published (LU_BPF_VMAS). With
   * follow_all, a process is then published only if that pays or has to be. */
  gboolean has_vmas;
} LuBpfMapsOptions;

typedef struct
{
  guint64 memory_bytes;       /* of all maps, by the kernel's own figure */
  guint entries, max_entries; /* of 1 MiB: in use, by the budget */
  gsize table_bytes;          /* in use: page indexes and rows */
  gsize mapping_bytes;        /* in use: blocks of mappings */
  guint n_tables;             /* published now */
  guint n_rules;              /* in the dictionary now */
  guint n_processes;          /* published now */
  guint n_files;              /* that are mapped, or were lately */
  guint64 published, evicted; /* tables */
  guint64 process_updates;    /* of the kernel's hash */
  guint64 refused_tables;     /* no room for the table */
  guint64 refused_rules;      /* rules taken as complex: no room in the dictionary */
  guint64 refused_modules;    /* no slot for the module, or too large for an index */
  guint64 refused_mappings;   /* no room for the mappings, or too many */
  guint64 refused_processes;  /* no room for the process */
} LuBpfMapsStats;

/* What a flush has left. */
typedef enum
{
  LU_BPF_MAPS_WAIT_NO = 0,
  LU_BPF_MAPS_WAIT_FILES,  /* files of a new process; in vain if nobody is opening any */
  LU_BPF_MAPS_WAIT_MEMORY, /* the publisher is bringing it in */
} LuBpfMapsWait;

/* Takes the backing. Starts the thread. */
LuBpfMaps *lu_bpf_maps_new (LuBpfBacking *backing, const LuBpfMapsOptions *options);
/* Ends the thread. The program must not be attached any more. */
void lu_bpf_maps_free (LuBpfMaps *self);

/* Drain thread (or the main thread before it runs). As the process table tells it. Acts at the next
 * flush, but for the end: what has ended by then was never published. The process is referenced
 * until it is. */
void lu_bpf_maps_space_changed (LuBpfMaps *self, LuProcess *process, LuSpaceChange change,
                                gint32 parent_pid);
/* Drain thread: nobody has mapped the file before, so it is to become known. is_young: the program
 * started while recording. */
void lu_bpf_maps_introduce (LuBpfMaps *self, const LuMapping *mapping, gboolean is_young);
/* Drain thread: a sample of the process came; by_vmas: walked by the kernel's own mappings, else as
 * a copy of the stack; space: that of its time. Whether it is to be published now; if it is alive,
 * lu_bpf_maps_watch() sees to that. */
gboolean lu_bpf_maps_wants (LuBpfMaps *self, LuProcess *process, LuSpace *space, gboolean by_vmas);
/* Drain thread: the process, which is what its pid is now, is published, and kept up to date. */
void lu_bpf_maps_watch (LuBpfMaps *self, LuProcess *process);
/* Drain thread, at least once in each round, after side-band was applied: publishes what has
 * changed. For what waits then: come again soon, in some milliseconds, even if nothing happens. */
LuBpfMapsWait lu_bpf_maps_flush (LuBpfMaps *self);
/* Drain thread: a stack was unwound in user space through this module. Its table will be published
 * if there is room. The program asks on its own (LU_BPF_WANTED), so this is needed only for what it
 * cannot see. */
void lu_bpf_maps_want_module (LuBpfMaps *self, LuModule *module);
/* Drain thread: the module of a slot, for diagnostics (lu_bpf_counters.failed_module): its
 * lu_module_id(), or 0. */
guint32 lu_bpf_maps_module_of_slot (LuBpfMaps *self, guint32 slot);

/* Whether every process that is followed is published, and from its beginning on. */
gboolean lu_bpf_maps_has_all (const LuBpfMaps *self);

/* Any thread: a module was opened, or a table became available. lu_tables_set_listener() calls it.
 */
void lu_bpf_maps_poke (LuBpfMaps *self);
/* Any thread. */
void lu_bpf_maps_get_stats (LuBpfMaps *self, LuBpfMapsStats *stats);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuBpfMaps, lu_bpf_maps_free)
