/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* backing-kernel.c - the maps of the program; see backing-kernel.h.
 *
 * Entries stay mapped while they are in the map, but their descriptors are closed at once, so that
 * a recording needs few descriptors however large its memory is. A walk has ended after an RCU
 * grace period, which membarrier(2) waits for: kernel/sched/membarrier.c calls synchronize_rcu(),
 * and the program runs with preemption off. Kernels with CPUs in nohz_full refuse it. */

#include "bpf/backing-kernel.h"

#include "base/error.h"
#include "base/fd.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

typedef struct
{
  LuBpfBacking base;
  LuBpfProgram *program;        /* borrowed */
  struct lu_bpf_shared *shared; /* mapped */
  gsize shared_size;
  guint32 *entries[LU_BPF_MAX_ENTRIES]; /* mapped; publisher */
  guint64 sizes[LU_BPF_MAX_ENTRIES];    /* by the kernel's figure */
  atomic_ullong entry_bytes;
} Kernel;

static int
memory_fd (const Kernel *self)
{
  return lu_bpf_program_map_fd (self->program, LU_BPF_MAP_MEMORY);
}

static int
processes_fd (const Kernel *self)
{
  return lu_bpf_program_map_fd (self->program, LU_BPF_MAP_PROCESSES);
}

/* Returns the descriptor of a new entry, all zeros, and maps it; -1 with errno set on failure. */
static int
new_entry (guint32 **words)
{
  LIBBPF_OPTS (bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  int fd = bpf_map_create (BPF_MAP_TYPE_ARRAY, "memory_entry", sizeof (guint32),
                           LU_BPF_ENTRY_BYTES + LU_BPF_ENTRY_SLACK, 1, &options);
  gpointer memory = fd >= 0
                        ? mmap (NULL, LU_BPF_ENTRY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;

  if (memory == MAP_FAILED)
    lu_fd_clear (&fd);
  else
    *words = memory;
  return fd;
}

/* Returns how many are in, the first ones. The kernel waits once for a batch (Linux 5.16), and once
 * for each entry that is put in alone, some 10 ms each time. */
static guint
put_in (int map_fd, const guint32 *places, const int *fds, guint n)
{
  guint32 n_in = n;

  if (n > 1 && bpf_map_update_batch (map_fd, places, fds, &n_in, NULL) == 0)
    return n;
  n_in = 0;
  while (n_in < n && bpf_map_update_elem (map_fd, &places[n_in], &fds[n_in], BPF_ANY) == 0)
    n_in++;
  return n_in;
}

static guint
add_entries (LuBpfBacking *base, const guint32 *entries, guint n, guint32 **words)
{
  Kernel *self = (Kernel *) base;
  int fds[LU_BPF_ENTRIES_AT_ONCE];
  guint n_new = 0, n_in;

  while (n_new < n && (fds[n_new] = new_entry (&words[n_new])) >= 0)
    n_new++;
  n_in = put_in (memory_fd (self), entries, fds, n_new);
  if (n_in < n)
    g_debug ("no more memory for tables: %s", g_strerror (errno));
  for (guint i = 0; i < n_in; i++)
    {
      self->entries[entries[i]] = words[i];
      self->sizes[entries[i]] = lu_bpf_map_memory (fds[i]);
      atomic_fetch_add (&self->entry_bytes, self->sizes[entries[i]]);
    }
  for (guint i = 0; i < n_new; i++)
    close (fds[i]);
  for (guint i = n_in; i < n_new; i++)
    munmap (words[i], LU_BPF_ENTRY_BYTES);
  return n_in;
}

static void
remove_entry (LuBpfBacking *base, guint entry)
{
  Kernel *self = (Kernel *) base;

  if (bpf_map_delete_elem (memory_fd (self), &entry) != 0)
    g_debug ("memory for tables stays: %s", g_strerror (errno));
  munmap (g_steal_pointer (&self->entries[entry]), LU_BPF_ENTRY_BYTES);
  atomic_fetch_sub (&self->entry_bytes, self->sizes[entry]);
}

static gboolean
wait_for_walks (LuBpfBacking *base)
{
  return syscall (SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

/* Only the drain thread changes entries. */
static void
note_process_change (Kernel *self)
{
  guint64 *changes = &self->shared->process_changes;

  __atomic_store_n (changes, *changes + 1, __ATOMIC_RELEASE);
}

static gboolean
put_process (LuBpfBacking *base, guint32 tgid, const struct lu_bpf_process *process)
{
  Kernel *self = (Kernel *) base;
  gboolean is_put = bpf_map_update_elem (processes_fd (self), &tgid, process, BPF_ANY) == 0;

  note_process_change (self);
  return is_put;
}

static void
remove_process (LuBpfBacking *base, guint32 tgid)
{
  Kernel *self = (Kernel *) base;

  bpf_map_delete_elem (processes_fd (self), &tgid); /* it may not be there */
  note_process_change (self);
}

static void
read_interpreters (LuBpfBacking *base)
{
  lu_bpf_program_want_interpreters (((Kernel *) base)->program);
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
  base->shared = self->shared;
  base->dictionary = &self->shared->dictionary;
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
  guint32 size = sizeof info;

  return bpf_obj_get_info_by_fd (map_fd, &info, &size) == 0 ? info.max_entries : 0;
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
    .read_interpreters = read_interpreters,
    .memory_bytes = memory_bytes,
    .free = kernel_free,
  };
  Kernel *self = g_new0 (Kernel, 1);
  g_autoptr (LuBpfBacking) base = &self->base;

  base->ops = &ops;
  self->program = program;
  base->max_entries = max_entries_of (memory_fd (self));
  base->max_processes = max_entries_of (processes_fd (self));
  if (!open_shared (self, error))
    return NULL;
  if (base->max_entries == 0 || base->max_processes == 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "size of a BPF map: %s", g_strerror (errno));
      return NULL;
    }
  return g_steal_pointer (&base);
}
