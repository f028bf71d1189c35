/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* backing.h - the memory that the BPF program reads, and the hash of processes.
 *
 * Publishing (maps.h) writes through this interface: into the kernel's maps (backing-kernel.h), or,
 * in tests, into memory of the same process (memory-backing.h). */

#pragma once

#include "lu/bpf.h"

#include <glib.h>

typedef struct _LuBpfBacking LuBpfBacking;

/* Each has a descriptor until it is in, and a recording on two CPUs has 40 descriptors at most. */
#define LU_BPF_ENTRIES_AT_ONCE 4

typedef struct
{
  /* Adds at most LU_BPF_ENTRIES_AT_ONCE entries of "memory", all zeros, and sets the words of each.
   * Returns how many were added, the first ones. May wait some 10 ms, so the drain does not call
   * it. */
  guint (*add_entries) (LuBpfBacking *self, const guint32 *entries, guint n, guint32 **words);
  /* Removes an entry that no walk reads any more. May wait, too. */
  void (*remove_entry) (LuBpfBacking *self, guint entry);
  /* Waits until every walk that is under way now has ended. Returns FALSE if the kernel cannot
   * tell. */
  gboolean (*wait_for_walks) (LuBpfBacking *self);
  /* Changes the hash "processes". Drain thread. Returns FALSE if there is no room. */
  gboolean (*put_process) (LuBpfBacking *self, guint32 tgid, const struct lu_bpf_process *process);
  void (*remove_process) (LuBpfBacking *self, guint32 tgid);
  /* Returns the kernel's own figure of the memory of all maps. Any thread. */
  guint64 (*memory_bytes) (LuBpfBacking *self);
  void (*free) (LuBpfBacking *self);
  /* From some time after the first call on, the program reads functions of interpreters. Publisher
   * thread; does not wait. May be NULL. */
  void (*read_interpreters) (LuBpfBacking *self);
} LuBpfBackingOps;

/* Embedded as the first member. The arrays live as long as the backing. */
struct _LuBpfBacking
{
  const LuBpfBackingOps *ops;
  guint max_entries;   /* that "memory" has room for */
  guint max_processes; /* that "processes" has room for */
  guint n_identities;
  struct lu_bpf_dictionary *dictionary;
  struct lu_bpf_module *modules;      /* LU_BPF_MAX_MODULES */
  guint8 *use;                        /* LU_BPF_MAX_MODULES */
  struct lu_bpf_identity *identities; /* n_identities */
  struct lu_bpf_known *known;         /* LU_BPF_MAX_KNOWN */
  struct lu_bpf_shared *shared;       /* has all of these, and interpreters */
};

static inline void
lu_bpf_backing_free (LuBpfBacking *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuBpfBacking, lu_bpf_backing_free)
