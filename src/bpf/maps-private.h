/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps-private.h - shared by maps.c, which decides what to publish, and maps-processes.c, which
 * writes the entries of processes. Everything but the counters belongs to the drain thread. */

#pragma once

#include "bpf/blocks.h"
#include "candidates.h"
#include "bpf/publisher.h"

typedef struct
{
  guint64 id; /* lu_process_id() */
  gint32 pid;
  guint32 block;    /* LU_BPF_NO_ITEM: no mappings are published */
  guint32 identity; /* 0: none */
  guint32 next;     /* in the list of processes that need work; LU_BPF_NO_ITEM: the last one */
  guint64 exec_id;  /* the first one of its identity, while is_new */
  LuProcess *owner; /* reference, while the process needs work */
  gboolean is_new;  /* nothing is published of this incarnation */
  gboolean is_put;  /* the hash has an entry for the pid */
  gboolean is_dirty, is_pending, is_listed, is_young;
} LuBpfProcess;

struct _LuBpfMaps
{
  LuBpfBacking *backing; /* owned */
  LuQueue *requests, *answers;
  LuBpfPublisher *publisher;
  guint64 rest_ns;
  gboolean follow_all;
  gboolean is_lazy; /* processes are published on request */
  LuBpfDevices devices;

  LuBpfIndex by_pid;
  LuBpfProcess *processes; /* by item of by_pid */
  LuBpfSlots slots;
  LuBpfBlocks blocks;
  LuBpfReclaim identities;
  LuBpfCandidates candidates;
  guint32 listed;    /* first process that needs work */
  guint64 listed_at; /* ns, when a process was listed last */
  guint n_dirty;     /* about as many listed processes wait for no file */
  guint published;   /* lu_modules_published() at the last flush */
  gboolean is_growing, is_waiting, has_no_grace;

  LuCounters counters;
};

/* Publishes the block (taken) for the process, in place of its previous one, which rests because
 * walks under way still read it. */
void lu_bpf_maps_set_block (LuBpfMaps *self, LuBpfProcess *process, guint32 block);
/* Gives the process an identity; each process has one for each exec. */
void lu_bpf_maps_set_identity (LuBpfMaps *self, LuBpfProcess *process);
/* Drops the reference to a process that needs no more work. */
void lu_bpf_maps_forget_owner (LuBpfProcess *process);
/* Takes a change of an address space that has to be published. */
void lu_bpf_maps_take_change (LuBpfMaps *self, LuProcess *process, LuAddressSpaceChange change,
                              gint32 parent_pid);
/* Takes the end of the process that had its pid before. */
void lu_bpf_maps_take_end (LuBpfMaps *self, const LuProcess *process);
