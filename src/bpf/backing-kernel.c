/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* backing-kernel.c - the maps of the program; see backing-kernel.h.
 *
 * Pieces of memory stay mapped as long as they are in; their descriptors are closed at once, so
 * that a budget in MiB is not one of descriptors. A walk is over when an RCU grace period is, which
 * membarrier(2) waits for: kernel/sched/membarrier.c calls synchronize_rcu(), and the program runs
 * with preemption off. Kernels with CPUs in nohz_full refuse it. */

#include "bpf/backing-kernel.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct
{
  LuBpfBacking base;
  LuBpfProgram *program;        /* borrowed */
  int processes_fd;             /* borrowed */
  struct lu_bpf_shared *shared; /* mapped */
  gsize shared_size;
  guint32 *entries[LU_BPF_MAX_ENTRIES]; /* mapped; publisher */
  guint64 sizes[LU_BPF_MAX_ENTRIES];    /* by the kernel's figure */
  atomic_ullong entry_bytes;
} Kernel;

static guint
add_entries (LuBpfBacking *base, const guint32 *entries, guint n, guint32 **words)
{
  Kernel *self = (Kernel *) base;
  guint64 bytes[LU_BPF_ENTRIES_AT_ONCE];
  guint n_in = lu_bpf_program_add_entries (self->program, entries, n, words, bytes);

  if (n_in < n)
    g_debug ("no more memory for tables: %s", g_strerror (errno));
  for (guint i = 0; i < n_in; i++)
    {
      self->entries[entries[i]] = words[i];
      self->sizes[entries[i]] = bytes[i];
      atomic_fetch_add (&self->entry_bytes, bytes[i]);
    }
  return n_in;
}

static void
remove_entry (LuBpfBacking *base, guint entry)
{
  Kernel *self = (Kernel *) base;

  if (!lu_bpf_program_remove_entry (self->program, entry))
    g_debug ("memory for tables stays: %s", g_strerror (errno));
  munmap (g_steal_pointer (&self->entries[entry]), LU_BPF_ENTRY_BYTES);
  atomic_fetch_sub (&self->entry_bytes, self->sizes[entry]);
}

static gboolean
wait_for_walks (LuBpfBacking *base)
{
  return syscall (SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

static gboolean
put_process (LuBpfBacking *base, guint32 tgid, const struct lu_bpf_process *process)
{
  union bpf_attr attr = { .map_fd = (guint32) ((Kernel *) base)->processes_fd,
                          .key = (gsize) &tgid,
                          .value = (gsize) process,
                          .flags = BPF_ANY };

  return syscall (SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof attr) == 0;
}

static void
remove_process (LuBpfBacking *base, guint32 tgid)
{
  union bpf_attr attr = { .map_fd = (guint32) ((Kernel *) base)->processes_fd,
                          .key = (gsize) &tgid };

  syscall (SYS_bpf, BPF_MAP_DELETE_ELEM, &attr, sizeof attr); /* it may not be there */
}

static guint64
memory_bytes (LuBpfBacking *base)
{
  Kernel *self = (Kernel *) base;

  return lu_bpf_program_memory (self->program) + atomic_load (&self->entry_bytes);
}

static void
kernel_free (LuBpfBacking *base)
{
  Kernel *self = (Kernel *) base;

  for (guint i = 0; i < LU_BPF_MAX_ENTRIES; i++)
    if (self->entries[i] != NULL)
      munmap (self->entries[i], LU_BPF_ENTRY_BYTES);
  if (self->shared != NULL)
    munmap (self->shared, self->shared_size);
  g_free (self);
}

static gboolean
open_shared (Kernel *self, GError **error)
{
  LuBpfBacking *base = &self->base;

  self->shared = lu_bpf_program_mmap (self->program, LU_BPF_MAP_SHARED, &self->shared_size);
  if (self->shared == NULL)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "mmap of a BPF map: %s", g_strerror (errno));
      return FALSE;
    }
  base->rules = self->shared->rules;
  base->modules = self->shared->modules;
  base->use = self->shared->use;
  base->identities = self->shared->identities;
  base->n_identities = lu_bpf_program_n_identities (self->program);
  base->known = self->shared->known;
  return TRUE;
}

static guint
max_entries_of (int map_fd)
{
  struct bpf_map_info info = { 0 };
  union bpf_attr attr = {
    .info = { .bpf_fd = (guint32) map_fd, .info_len = sizeof info, .info = (gsize) &info }
  };

  return syscall (SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr) == 0 ? info.max_entries : 0;
}

LuBpfBacking *
lu_bpf_backing_kernel_new (LuBpfProgram *program, GError **error)
{
  static const LuBpfBackingOps ops = {
    .add_entries = add_entries,
    .remove_entry = remove_entry,
    .wait_for_walks = wait_for_walks,
    .put_process = put_process,
    .remove_process = remove_process,
    .memory_bytes = memory_bytes,
    .free = kernel_free,
  };
  Kernel *self = g_new0 (Kernel, 1);
  g_autoptr (LuBpfBacking) base = &self->base;

  base->ops = &ops;
  self->program = program;
  self->processes_fd = lu_bpf_program_map_fd (program, LU_BPF_MAP_PROCESSES);
  base->max_entries = max_entries_of (lu_bpf_program_map_fd (program, LU_BPF_MAP_MEMORY));
  base->max_processes = max_entries_of (self->processes_fd);
  if (!open_shared (self, error))
    return NULL;
  if (base->max_entries == 0 || base->max_processes == 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "size of a BPF map: %s", g_strerror (errno));
      return NULL;
    }
  return g_steal_pointer (&base);
}
