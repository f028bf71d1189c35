/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* drain-events.c - handles the events of a round: side-band goes to the process table, samples go
 * with their address space to the dispatch. Drain thread. */

#include "drain-private.h"

/* Query /proc at once for processes older than this; younger ones may exit first. */
#define SAMPLED_AGE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000)

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  LuDrain *self = user_data;
  const LuMapping *mapping;

  self->met.has_requests = TRUE;
  lu_dispatch_open (self->dispatch, module, lu_process_pid (process), start, end);
  if (self->maps == NULL)
    return;
  mapping = lu_address_space_find (lu_process_address_space (process), start);
  if (mapping != NULL && mapping->module == module)
    lu_bpf_maps_introduce (self->maps, mapping, lu_process_start_time (process) != 0);
}

/* Asks for the name of a new program. A child that executes nothing has its parent's name, and a
 * process from before the recording is asked for when it is sampled. */
static void
process_added (LuProcess *process, gboolean is_exec, gpointer user_data)
{
  LuDrain *self = user_data;

  if (is_exec && !self->met.has_arguments)
    lu_process_info_request_later (self->process_info, process);
}

static void
forked (guint64 time, gint32 pid, gint32 child_pid, gpointer user_data)
{
  LuDrain *self = user_data;

  lu_dispatch_task (self->dispatch, FALSE, time, pid, child_pid);
}

static void
exited (guint64 time, gint32 pid, gpointer user_data)
{
  LuDrain *self = user_data;

  lu_dispatch_task (self->dispatch, TRUE, time, pid, 0);
}

static void
address_space_changed (LuProcess *process, LuAddressSpace *space, LuAddressSpaceChange change,
                       gint32 parent_pid, gpointer user_data)
{
  LuDrain *self = user_data;

  if (self->maps != NULL)
    lu_bpf_maps_address_space_changed (self->maps, process, change, parent_pid);
}

/* Files that the worker has opened when it runs out of requests are seen by the next flush. */
void
lu_drain_flush_maps (LuDrain *self)
{
  gboolean is_opening = lu_dispatch_has_requests (self->dispatch);
  LuBpfMapsWait wait = self->maps != NULL ? lu_bpf_maps_flush (self->maps) : LU_BPF_MAPS_WAIT_NO;

  self->met.maps_wait =
      wait == LU_BPF_MAPS_WAIT_MEMORY || (wait == LU_BPF_MAPS_WAIT_FILES && is_opening);
}

const LuProcessTableFuncs lu_drain_table_funcs = {
  .module_added = module_added,
  .process_added = process_added,
  .forked = forked,
  .exited = exited,
  .address_space_changed = address_space_changed,
};

static void
log_event (LuDrain *self, const LuEvent *event)
{
  char text[128];

  switch (event->kind)
    {
    case LU_EVENT_LOST:
    case LU_EVENT_LOST_SAMPLES:
      g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT " records lost on CPU %d",
                  event->lost.count, event->cpu);
      break;
    case LU_EVENT_THROTTLE:
      lu_count (&self->counters, LU_COUNTER_THROTTLED);
      g_snprintf (text, sizeof text, "the kernel throttled sampling on CPU %d", event->cpu);
      break;
    default:
      return;
    }
  lu_dispatch_log (self->dispatch, event->time, text);
}

/* Returns TAKEN if the sample belongs to the recording, otherwise the counter of the reason why it
 * is left out. */
static LuCounter
reason_to_skip (LuDrain *self, const LuEvent *event)
{
  if (self->live && event->pid == self->own_pid && !self->options.include_self)
    return LU_COUNTER_OWN;
  /* The child is a copy of us until it executes COMMAND. */
  if (self->options.command != 0 && event->pid == self->options.command
      && event->time < self->command_exec_time)
    return LU_COUNTER_OWN;
  if (event->pid < 0)
    return LU_COUNTER_NOT_RECORDED;
  if (self->tids != NULL && !g_hash_table_contains (self->tids, GINT_TO_POINTER (event->tid)))
    return LU_COUNTER_NOT_RECORDED;
  return LU_COUNTER_TAKEN;
}

/* Tells the maps which processes would be worth publishing. Stacks that BPF unwound by published
 * mappings and samples without a user stack say nothing new, and processes that have ended are no
 * longer published. */
static void
count_for_maps (LuDrain *self, const LuLocatedEvent *located)
{
  const LuEvent *event = located->event;
  gboolean is_bpf_unwound = event->kind == LU_EVENT_BPF_UNWOUND;

  if (self->maps == NULL
      || (is_bpf_unwound ? (event->bpf_unwound.flags & LU_BPF_RECORD_VMAS) == 0
                         : event->sample.stack_size == 0))
    return;
  if (lu_bpf_maps_wants (self->maps, located->process, located->space, is_bpf_unwound)
      && lu_process_table_is_current (self->table, located->process))
    lu_bpf_maps_watch (self->maps, located->process);
}

static void
prepare_process (LuDrain *self, LuProcess *process, guint64 time)
{
  guint64 start = lu_process_start_time (process);

  if (lu_process_ask_once (process, LU_PROCESS_MODULES) != 0)
    lu_process_table_announce (self->table, process);
  if (start == 0 || time > start + SAMPLED_AGE_NS)
    lu_process_info_request (self->process_info, process,
                             LU_PROCESS_NAME | LU_PROCESS_MOUNTS
                                 | (start == 0 ? LU_PROCESS_THREADS : 0));
  else if (!lu_process_has_command_line (process) || !lu_process_maps_our_files (process))
    lu_process_info_request_later (self->process_info, process);
}

static LuDispatchResult
dispatch (LuDrain *self, const LuLocatedEvent *located)
{
  if (located->event->kind == LU_EVENT_BPF_UNWOUND)
    {
      self->met.n_bpf_unwound++;
      return lu_dispatch_bpf_unwound (self->dispatch, located);
    }
  self->met.n_copies++;
  return lu_dispatch_sample (self->dispatch, located, self->has_slack);
}

/* Publishes before the first sample of a round: all side-band of the round has been applied by
 * then. */
static void
flush_after_sideband (LuDrain *self)
{
  if (self->is_flushed)
    return;
  self->is_flushed = TRUE;
  lu_drain_flush_maps (self);
}

static LuVerdict
take_sample (LuDrain *self, const LuEvent *event)
{
  LuCounter counter = reason_to_skip (self, event);
  LuLocatedEvent located = { .event = event };

  if (counter == LU_COUNTER_TAKEN
      && !lu_process_table_lookup (self->table, event->pid, event->time, &located.process,
                                   &located.space))
    counter = LU_COUNTER_NOT_RECORDED;
  if (self->maps != NULL && self->met.had_sideband)
    flush_after_sideband (self);
  if (counter == LU_COUNTER_TAKEN)
    prepare_process (self, located.process, event->time);
  if (counter == LU_COUNTER_TAKEN && dispatch (self, &located) == LU_DISPATCH_NO_ROOM)
    return LU_VERDICT_LATER;
  /* This sample arrives once more, with a copy. */
  if (event->kind == LU_EVENT_BPF_UNWOUND && lu_dispatch_compares_engines (self->dispatch))
    return LU_VERDICT_DONE;
  lu_count (&self->counters, LU_COUNTER_SEEN);
  lu_count (&self->counters, counter);
  if (counter == LU_COUNTER_TAKEN)
    count_for_maps (self, &located);
  return LU_VERDICT_DONE;
}

/* Takes arguments that the BPF program read at an exec. All side-band up to here has been applied,
 * so the process is the one that they were read from. */
static void
take_arguments (LuDrain *self, const LuEvent *event)
{
  char text[LU_BPF_MAX_ARGUMENTS];
  LuProcess *process;
  LuAddressSpace *space;

  self->met.has_arguments = TRUE;
  if (!lu_process_table_follows (self->table, event->pid)
      || !lu_process_table_lookup (self->table, event->pid, event->time, &process, &space)
      || lu_process_has_command_line (process))
    return;
  memcpy (text, event->arguments.text, event->arguments.size);
  lu_process_set_arguments (process, text, event->arguments.size);
}

/* Functions of processes that are not recorded are dropped, as their samples. */
static LuVerdict
take_function (LuDrain *self, const LuEvent *event)
{
  LuLocatedEvent located = { .event = event };

  if (reason_to_skip (self, event) == LU_COUNTER_TAKEN
      && lu_process_table_lookup (self->table, event->pid, event->time, &located.process,
                                  &located.space)
      && lu_dispatch_function (self->dispatch, &located) == LU_DISPATCH_NO_ROOM)
    return LU_VERDICT_LATER;
  return LU_VERDICT_DONE;
}

/* The account of a recorded process gets all that such a child has ever used, when it is waited
 * for. */
static gboolean
is_old_child (LuDrain *self, const LuEvent *event)
{
  return event->kind == LU_EVENT_EXIT && event->tid == event->pid
         && !lu_process_table_follows (self->table, event->pid)
         && lu_process_table_follows (self->table, event->task.parent_pid);
}

static void
note_news (LuDrain *self, const LuEvent *event)
{
  gboolean is_thread = event->kind == LU_EVENT_FORK && event->tid != event->pid;

  /* The fork has been applied: a child is recorded if its parent is. */
  if ((is_thread || !self->met.had_news) && lu_process_table_follows (self->table, event->pid))
    {
      self->met.had_news = TRUE;
      self->met.has_new_thread = self->met.has_new_thread || is_thread;
    }
}

LuVerdict
lu_drain_handle_event (const LuEvent *event, gpointer user_data)
{
  LuDrain *self = user_data;

  if (event->kind == LU_EVENT_SAMPLE || event->kind == LU_EVENT_BPF_UNWOUND)
    return take_sample (self, event);
  if (event->kind == LU_EVENT_INTERP_CHAIN)
    {
      lu_dispatch_keep_chain (self->dispatch, event);
      return LU_VERDICT_DONE;
    }
  if (event->kind == LU_EVENT_INTERP_FUNCTION)
    return take_function (self, event);
  if (event->kind == LU_EVENT_ARGUMENTS)
    {
      take_arguments (self, event);
      return LU_VERDICT_DONE;
    }
  self->met.had_sideband = TRUE;
  lu_count_n (&self->counters, LU_COUNTER_OLD_CHILDREN, is_old_child (self, event));
  switch (event->kind)
    {
    case LU_EVENT_COMM:
      if (event->comm.is_exec && event->pid == self->options.command)
        self->command_exec_time = MIN (self->command_exec_time, event->time);
      lu_process_table_apply (self->table, event);
      break;
    case LU_EVENT_LOST:
      if (self->maps != NULL)
        lu_bpf_maps_forget_functions (self->maps);
      log_event (self, event);
      break;
    case LU_EVENT_LOST_SAMPLES:
    case LU_EVENT_THROTTLE:
      log_event (self, event);
      break;
    default:
      lu_process_table_apply (self->table, event);
      break;
    }
  note_news (self, event);
  return LU_VERDICT_DONE;
}
