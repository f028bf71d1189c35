/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-events.c - applies side-band to the processes; see process-table.h.
 *
 * Events come in order of time. A fork copies the parent's address space from our own state; an
 * exec begins the next incarnation of its pid. */

#include "process/moved-text.h"
#include "process/process-table-private.h"

#include <sys/mman.h>

/* A process with more executable mappings than this generates code; addresses in further mappings
 * are in "no mapping". */
#define MAX_MAPPINGS 8192
/* A program moves its code once, in a few pieces. */
#define MAX_MOVED_TEXTS 4

static void
tell_forked (LuProcessTable *self, guint64 time, gint32 pid, gint32 child_pid)
{
  if (self->funcs->forked != NULL)
    self->funcs->forked (time, pid, child_pid, self->user_data);
}

/* Has the mappings of a process read if it may have moved code of a file. */
static void
look_for_moved_text (LuProcessTable *self, LuPid *pid, const LuMapping *mapping)
{
  if (pid->n_moved_texts >= MAX_MOVED_TEXTS
      || !lu_moved_text_is_possible (lu_process_address_space (pid->current), mapping))
    return;
  pid->n_moved_texts++;
  g_hash_table_add (self->moved, GINT_TO_POINTER (pid->number));
}

static void
apply_mmap (LuProcessTable *self, const LuEvent *event)
{
  const LuMmapEvent *mmap = &event->mmap;
  LuPid *pid = lu_process_table_find (self, event->pid);
  LuMapping mapping = { .start = mmap->start,
                        .end = mmap->start + mmap->length,
                        .file_offset = mmap->file_offset,
                        .time = event->time,
                        .is_fixed = !(mmap->prot & PROT_WRITE) };
  guint n_mappings;

  if (pid == NULL && self->follow_all)
    {
      lu_process_table_follow (self, event->pid);
      pid = lu_process_table_find (self, event->pid);
    }
  if (pid == NULL || mmap->is_kernel || !(mmap->prot & PROT_EXEC) || mmap->length == 0)
    return;
  lu_address_space_mappings (lu_process_address_space (pid->current), &n_mappings);
  if (n_mappings >= MAX_MAPPINGS)
    return;
  mapping.module = lu_process_table_module (self, mmap);
  look_for_moved_text (self, pid, &mapping);
  if (pid->has_moved_text && lu_moved_text_is_copied (&mapping))
    {
      mapping.module = lu_module_cache_find_copied (self->modules);
      lu_process_table_note_copy (self, pid, mapping.start);
    }
  if (lu_process_add_mapping (pid->current, event->time, &mapping))
    {
      if (lu_process_has_history (pid->current))
        lu_process_table_mark_unsettled (self, pid);
      lu_process_table_tell_address_space (self, pid->current, LU_ADDRESS_SPACE_MAPPED, 0);
    }
  lu_process_table_announce_module (self, &mapping, pid->current);
}

static void
apply_exec (LuProcessTable *self, const LuEvent *event)
{
  LuPid *pid = lu_process_table_find (self, event->pid);
  g_autoptr (LuAddressSpace) space = NULL;
  LuProcess *process;

  if (pid == NULL && !self->follow_all)
    return;
  space = lu_address_space_new ();
  process = lu_process_new (event->pid, event->time, event->comm.name, space);
  lu_process_set_executed (process);
  pid = lu_process_table_put (self, process);
  pid->n_threads = 1; /* exec ends all other threads */
  pid->has_moved_text = FALSE;
  pid->n_moved_texts = 0;
  pid->n_copies = 0;
  lu_process_table_tell_address_space (self, process, LU_ADDRESS_SPACE_EXECED, 0);
  lu_process_table_tell_added (self, process, TRUE);
}

static void
apply_comm (LuProcessTable *self, const LuEvent *event)
{
  gboolean is_first = event->tid == event->pid;
  LuPid *pid;

  if (event->comm.is_exec)
    {
      apply_exec (self, event);
      return;
    }
  if (self->follow_all && is_first)
    lu_process_table_follow (self, event->pid);
  pid = lu_process_table_find (self, event->pid);
  if (pid == NULL)
    return;
  /* A file has only a name for a process that ran before the recording. */
  if (is_first && lu_process_comm (pid->current)[0] == 0)
    lu_process_set_command_line (pid->current, event->comm.name, strlen (event->comm.name));
  lu_process_set_thread_name (pid->current, event->tid, event->comm.name);
}

static void
apply_fork (LuProcessTable *self, const LuEvent *event)
{
  LuPid *parent = lu_process_table_find (self, event->task.parent_pid);
  gboolean has_moved_text = parent != NULL && event->time != 0 && parent->has_moved_text;
  LuPid *child_pid;
  LuProcess *child;

  if (parent == NULL && !(self->follow_all && event->pid != event->task.parent_pid))
    return;
  if (event->pid == event->task.parent_pid)
    {
      parent->n_threads++;
      lu_process_inherit_thread_name (parent->current, event->tid, parent->current,
                                      event->task.parent_tid);
      tell_forked (self, event->time, event->pid, event->tid);
      return;
    }
  /* A fork at time 0 was made up by the recorder for a process that ran before; it has its own
   * mappings. */
  if (parent != NULL && event->time != 0)
    {
      child = lu_process_new (event->pid, event->time, lu_process_comm (parent->current),
                              lu_process_address_space_at (parent->current, event->time));
      lu_process_inherit_names (child, parent->current);
      lu_process_inherit_thread_name (child, event->tid, parent->current, event->task.parent_tid);
    }
  else
    {
      g_autoptr (LuAddressSpace) space = lu_address_space_new ();

      child = lu_process_new (event->pid, event->time, "", space);
      g_hash_table_add (self->undiscovered, GINT_TO_POINTER (event->pid));
    }
  child_pid = lu_process_table_put (self, child);
  child_pid->n_threads = 1;
  child_pid->has_moved_text = has_moved_text;
  lu_process_table_tell_address_space (self, child, LU_ADDRESS_SPACE_FORKED,
                                       event->task.parent_pid);
  tell_forked (self, event->time, event->task.parent_pid, event->pid);
  lu_process_table_tell_added (self, child, FALSE);
}

static void
apply_exit (LuProcessTable *self, const LuEvent *event)
{
  LuPid *pid = lu_process_table_find (self, event->pid);

  if (pid == NULL || pid->dead)
    return;
  pid->n_threads--;
  if (event->tid == event->pid)
    pid->leader_exited = TRUE;
  if (pid->leader_exited && pid->n_threads <= 0)
    lu_process_table_mark_dead (self, pid, event->time);
}

/* All tasks outside our pid namespace have pid 0. A recorded file may have a name for it. */
static gboolean
is_idle_task_in_file (const LuEvent *event)
{
  return event->kind == LU_EVENT_COMM && event->time == 0;
}

void
lu_process_table_apply (LuProcessTable *self, const LuEvent *event)
{
  self->newest_time = MAX (self->newest_time, event->time);
  if (event->pid < 0 || (event->pid == 0 && !is_idle_task_in_file (event)))
    return;
  switch (event->kind)
    {
    case LU_EVENT_MMAP:
      apply_mmap (self, event);
      break;
    case LU_EVENT_COMM:
      apply_comm (self, event);
      break;
    case LU_EVENT_FORK:
      apply_fork (self, event);
      break;
    case LU_EVENT_EXIT:
      apply_exit (self, event);
      break;
    default:
      break;
    }
}
