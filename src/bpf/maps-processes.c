/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps-processes.c - the entries of processes in the kernel's hash, and their identities; see
 * maps-private.h. */

#include "bpf/maps-private.h"

#include "base/clock.h"

/* Entries of the hash */

static void
put_entry (LuBpfMaps *self, LuBpfProcess *process)
{
  /* The words at address 0 are zero: one empty mapping. */
  struct lu_bpf_process entry = { .n_mappings = 1,
                                  .identity = process->identity,
                                  .flags = LU_BPF_PROCESS_PENDING };

  if (process->block != LU_BPF_NO_ITEM)
    {
      const LuBpfBlock *block = &self->blocks.blocks[process->block];

      entry.serial = block->serial;
      entry.mappings = block->address;
      entry.n_mappings = block->n_mappings;
      entry.flags = block->n_pending > 0 ? LU_BPF_PROCESS_PENDING : 0;
      if (lu_address_space_has_hotspot (block->space))
        entry.flags |= LU_BPF_PROCESS_HOTSPOT;
    }
  entry.check = lu_bpf_process_check (&entry, (guint32) process->pid);
  lu_count (&self->counters, LU_COUNTER_MAPS_PROCESS_UPDATES);
  process->is_put = TRUE;
  if (!self->backing->ops->put_process (self->backing, (guint32) process->pid, &entry))
    lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_PROCESSES);
}

void
lu_bpf_maps_set_block (LuBpfMaps *self, LuBpfProcess *process, guint32 block)
{
  guint32 before = process->block;

  process->block = block;
  put_entry (self, process);
  if (before != LU_BPF_NO_ITEM)
    lu_bpf_blocks_give_back (&self->blocks, &self->slots, before);
}

void
lu_bpf_maps_set_identity (LuBpfMaps *self, LuBpfProcess *process)
{
  gint64 number = lu_bpf_reclaim_take (&self->identities, 1);
  struct lu_bpf_identity *identity;

  if (process->identity != 0)
    lu_bpf_reclaim_give_back (&self->identities, process->identity, 1);
  process->identity = number > 0 ? (guint32) number : 0;
  if (process->identity == 0)
    return;
  identity = &self->backing->identities[number];
  __atomic_store_n (&identity->start_time, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&identity->seen_ns, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&identity->exec_id, process->exec_id, __ATOMIC_RELEASE);
}

/* Returns the exec_id that was known at that time; 0 if no walk had seen the process or its
 * ancestor by then. The current exec_id may be that of a later exec. */
static guint64
exec_id_at (const LuBpfMaps *self, const LuBpfProcess *process, guint64 time)
{
  const struct lu_bpf_identity *identity;
  guint64 exec_id;

  if (process == NULL)
    return 0;
  if (process->is_new)
    return process->exec_id;
  identity = &self->backing->identities[process->identity];
  exec_id = __atomic_load_n (&identity->exec_id, __ATOMIC_ACQUIRE);
  return process->identity != 0 && __atomic_load_n (&identity->seen_ns, __ATOMIC_RELAXED) < time
             ? exec_id
             : 0;
}

/* Processes */

static LuBpfProcess *
find_process (LuBpfMaps *self, gint32 pid)
{
  guint32 item = lu_bpf_index_find (&self->by_pid, (guint64) pid);

  return item != LU_BPF_NO_ITEM ? &self->processes[item] : NULL;
}

static LuBpfProcess *
add_process (LuBpfMaps *self, gint32 pid)
{
  guint32 item = lu_bpf_index_add (&self->by_pid, (guint64) pid);
  gboolean is_listed;

  if (item == LU_BPF_NO_ITEM)
    {
      lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_PROCESSES);
      return NULL;
    }
  /* An earlier process may still be in the list at this place. */
  is_listed = self->processes[item].is_listed;
  self->processes[item] = (LuBpfProcess){
    .pid = pid, .block = LU_BPF_NO_ITEM, .is_listed = is_listed, .next = self->processes[item].next
  };
  lu_counters_set (&self->counters, LU_COUNTER_MAPS_PROCESSES, self->by_pid.n_used);
  return &self->processes[item];
}

void
lu_bpf_maps_forget_owner (LuBpfProcess *process)
{
  if (process->owner != NULL)
    lu_process_marks (process->owner)->is_dirty = FALSE;
  lu_process_unref (g_steal_pointer (&process->owner));
  process->is_dirty = process->is_pending = FALSE;
}

static void
remove_process (LuBpfMaps *self, LuBpfProcess *process)
{
  if (process->is_put)
    {
      self->backing->ops->remove_process (self->backing, (guint32) process->pid);
      lu_count (&self->counters, LU_COUNTER_MAPS_PROCESS_UPDATES);
    }
  if (process->block != LU_BPF_NO_ITEM)
    lu_bpf_blocks_give_back (&self->blocks, &self->slots, process->block);
  if (process->identity != 0)
    lu_bpf_reclaim_give_back (&self->identities, process->identity, 1);
  process->block = LU_BPF_NO_ITEM;
  process->identity = 0;
  lu_bpf_maps_forget_owner (process);
  lu_bpf_index_remove (&self->by_pid, (guint32) (process - self->processes));
  lu_counters_set (&self->counters, LU_COUNTER_MAPS_PROCESSES, self->by_pid.n_used);
}

/* Publishes its address space at the next flush. */
static void
mark_dirty (LuBpfMaps *self, LuBpfProcess *process, LuProcess *owner)
{
  if (owner != process->owner)
    {
      lu_process_unref (process->owner);
      process->owner = lu_process_ref (owner);
    }
  lu_process_marks (owner)->is_dirty = TRUE;
  process->is_dirty = TRUE;
  self->n_dirty++;
  self->listed_at = lu_monotonic_ns ();
  if (process->is_listed)
    return;
  process->is_listed = TRUE;
  process->next = self->listed;
  self->listed = (guint32) (process - self->processes);
}

/* Changes from the process table */

/* A child begins with its parent's number, and each exec adds one (begin_new_exec() in fs/exec.c).
 * A process that was read from /proc may have had more of them. */
static guint64
next_exec_id (LuBpfMaps *self, const LuBpfProcess *known, LuAddressSpaceChange change, guint64 time,
              gint32 parent_pid)
{
  guint64 exec_id;

  if (change == LU_ADDRESS_SPACE_FORKED)
    return exec_id_at (self, find_process (self, parent_pid), time);
  exec_id = change == LU_ADDRESS_SPACE_EXECED ? exec_id_at (self, known, time) : 0;
  return exec_id != 0 ? exec_id + 1 : 0;
}

/* Begins an identity of which only exec_id is known; with exec_id 0 the program is the one that the
 * first walk finds.
 */
static void
begin_process (LuBpfMaps *self, LuBpfProcess *process, guint64 exec_id)
{
  process->is_new = TRUE;
  process->exec_id = exec_id;
  /* Otherwise its identity keeps walks from using what is published. */
  if (process->is_put && process->identity == 0)
    lu_bpf_maps_set_block (self, process, LU_BPF_NO_ITEM);
}

void
lu_bpf_maps_take_change (LuBpfMaps *self, LuProcess *process, LuAddressSpaceChange change,
                         gint32 parent_pid)
{
  LuBpfProcess *known = find_process (self, lu_process_pid (process));
  gboolean is_other = known == NULL || known->id != lu_process_id (process);

  if (known == NULL)
    known = add_process (self, lu_process_pid (process));
  if (known == NULL)
    return;
  known->id = lu_process_id (process);
  known->is_young = lu_process_start_time (process) != 0;
  if (is_other || change != LU_ADDRESS_SPACE_MAPPED)
    begin_process (self, known,
                   next_exec_id (self, known, change, lu_process_start_time (process), parent_pid));
  mark_dirty (self, known, process);
}

void
lu_bpf_maps_take_end (LuBpfMaps *self, const LuProcess *process)
{
  LuBpfProcess *known = find_process (self, lu_process_pid (process));

  if (known != NULL)
    remove_process (self, known);
}
