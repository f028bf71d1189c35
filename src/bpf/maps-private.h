/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps-private.h - what decides about publishing (maps.c) and what keeps the entries of processes
 * (maps-processes.c) share. All of the drain thread, but the counters. */

#pragma once

#include "bpf/blocks.h"
#include "bpf/devices.h"
#include "bpf/maps.h"
#include "bpf/newcomers.h"
#include "bpf/publisher.h"

#include <stdatomic.h>

typedef struct
{
  guint64 id; /* lu_process_id() */
  gint32 pid;
  guint32 block;    /* LU_BPF_NO_ITEM: no mappings are published */
  guint32 identity; /* 0: none */
  guint32 next;     /* of those with something to do; LU_BPF_NO_ITEM: the last one */
  guint64 exec_id;  /* with which its identity is to begin, while is_new */
  LuProcess *owner; /* reference, while there is something to do */
  gboolean is_new;  /* of this incarnation nothing is published */
  gboolean is_put;  /* the hash has an entry of the pid */
  gboolean is_dirty, is_pending, is_listed, is_young;
} LuBpfProcess;

struct _LuBpfMaps
{
  LuBpfBacking *backing; /* owned */
  LuQueue *requests, *answers;
  LuBpfPublisher *publisher;
  guint64 rest_ns;
  gboolean follow_all;
  gboolean is_lazy; /* processes are published when somebody asks */
  LuBpfDevices devices;

  LuBpfIndex by_pid;
  LuBpfProcess *processes; /* by item of by_pid */
  LuBpfSlots slots;
  LuBpfBlocks blocks;
  LuBpfAging identities;
  LuBpfNewcomers newcomers;
  guint32 listed;    /* processes with something to do */
  guint64 listed_at; /* ns, when one was listed last */
  guint n_dirty;     /* of them, about: those that wait for no file */
  guint published;   /* lu_modules_published() at the last flush */
  gboolean is_growing, is_waiting, has_no_grace;

  atomic_uint n_processes;
  atomic_size_t mapping_bytes;
  atomic_ullong updates, refused_mappings, refused_processes, refused_modules;
};

/* Replaces what is published of the process by that block; takes it. What was there before is
 * still looked at by walks under way, and rests. */
void lu_bpf_maps_set_block (LuBpfMaps *self, LuBpfProcess *process, guint32 block);
/* One for each process and exec. */
void lu_bpf_maps_set_identity (LuBpfMaps *self, LuBpfProcess *process);
/* There is nothing to do with it any more. */
void lu_bpf_maps_forget_owner (LuBpfProcess *process);
/* Its space is to be published. */
void lu_bpf_maps_take_change (LuBpfMaps *self, LuProcess *process, LuSpaceChange change,
                              gint32 parent_pid);
/* What was before at its pid has ended. */
void lu_bpf_maps_take_end (LuBpfMaps *self, const LuProcess *process);
