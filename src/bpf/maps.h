/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps.h - publishes processes, mappings, tables and rules for the BPF program.
 *
 * The drain thread reports processes and neither waits nor allocates here. The thread "publisher"
 * copies tables of whole files into the maps and adds memory for both. If something is missing or
 * does not fit, the program falls back and that is counted, so nothing fails here once the maps are
 * made. A record carries the serial number of the address space that the program used; the drain
 * checks whether that was the one at the time of the sample.
 *
 * The publisher creates maps while recording, which needs CAP_BPF (up to Linux 5.18 the drain's
 * updates need it, too) and the system calls bpf(2), mmap(2) and membarrier(2). */

#pragma once

#include "bpf/backing.h"
#include "process/process-table.h"

typedef struct _LuBpfMaps LuBpfMaps;

/* Budgets in MiB for tables and mappings. A browser or a compiler needs 12 to 30. */
#define LU_BPF_MEMORY_MIB     64
#define LU_BPF_MEMORY_MIN_MIB 4

typedef struct
{
  guint memory_mib;    /* budget */
  guint64 sampling_ns; /* time between two samples of a CPU; decides how long freed memory rests */
  LuTables *tables;    /* borrowed, outlives the maps; NULL: the publisher compiles small files */
  gboolean follow_all; /* most programs that run at the start are never sampled */
  /* The program reads the kernel's own mappings where nothing is published (LU_BPF_VMAS). With
   * follow_all, a process is then published only if that pays or is necessary. */
  gboolean has_vmas;
} LuBpfMapsOptions;

/* The result of a flush. */
typedef enum
{
  LU_BPF_MAPS_WAIT_NO = 0,
  LU_BPF_MAPS_WAIT_FILES,  /* until the files of a new process are open */
  LU_BPF_MAPS_WAIT_MEMORY, /* for the publisher, which is adding memory */
} LuBpfMapsWait;

/* Takes the backing and starts the thread. */
LuBpfMaps *lu_bpf_maps_new (LuBpfBacking *backing, const LuBpfMapsOptions *options);
/* Ends the thread. The program must not be attached any more. */
void lu_bpf_maps_free (LuBpfMaps *self);

/* Drain thread (or the main thread before it runs). Takes a change from the process table. Changes
 * take effect at the next flush; a process that has ended by then is never published. Refers to the
 * process until then. */
void lu_bpf_maps_address_space_changed (LuBpfMaps *self, LuProcess *process,
                                        LuAddressSpaceChange change, gint32 parent_pid);
/* Drain thread. Publishes a file that no process has mapped before. is_young: the program started
 * while recording. */
void lu_bpf_maps_introduce (LuBpfMaps *self, const LuMapping *mapping, gboolean is_young);
/* Drain thread, for a sample of the process. by_vmas: unwound by the kernel's own mappings;
 * otherwise it came as a copy of the stack. space: the address space at its time. Returns whether
 * the process should be published now; if it is alive, the caller uses lu_bpf_maps_watch(). */
gboolean lu_bpf_maps_wants (LuBpfMaps *self, LuProcess *process, LuAddressSpace *space,
                            gboolean by_vmas);
/* Drain thread. Publishes the current process of its pid and keeps it up to date. */
void lu_bpf_maps_watch (LuBpfMaps *self, LuProcess *process);
/* Drain thread. Has the functions of interpreters announced again, since announcements may be lost.
 */
void lu_bpf_maps_forget_functions (LuBpfMaps *self);
/* Drain thread, at least once in each round, after side-band was applied. Publishes what has
 * changed. If anything waits, call it again in some milliseconds, even if nothing happens. */
LuBpfMapsWait lu_bpf_maps_flush (LuBpfMaps *self);

/* Returns whether every followed process is published, and was from its start on. */
gboolean lu_bpf_maps_has_all (const LuBpfMaps *self);

/* Adds what was counted to *sum. Any thread. */
void lu_bpf_maps_add_counters (const LuBpfMaps *self, LuCounters *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuBpfMaps, lu_bpf_maps_free)
