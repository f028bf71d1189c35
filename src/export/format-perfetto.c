/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-perfetto.c - Perfetto's trace format: each sample as a StackSample (v58 and later), tracks
 * of processes and threads, and the counters of the machine.
 *
 * A trace is packets of one sequence. What is used often (names, files, frames, stacks, threads) is
 * interned: written once, in packets before all samples, under a number of its own from 1. */

#include "format.h"
#include "perfetto.pb-c.h"
#include "perfetto-tables.h"

#include <string.h>

enum
{
  CLOCK_OF_DAY = 1,
  CLOCK_MONOTONIC_ID = 3,
  TYPE_COUNTER = 4,
  MODE_USER = 1,
  MODE_KERNEL = 2,
};

static void
write_start (LuPerfetto *self)
{
  const LuModel *model = self->model;
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (model->capture_time, NULL);
  Lu__Perfetto__TracePacket packet = LU__PERFETTO__TRACE_PACKET__INIT;
  Lu__Perfetto__TracePacketDefaults defaults = LU__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
  Lu__Perfetto__StackSampleDefaults source = LU__PERFETTO__STACK_SAMPLE_DEFAULTS__INIT;
  Lu__Perfetto__ClockSnapshot snapshot = LU__PERFETTO__CLOCK_SNAPSHOT__INIT;
  Lu__Perfetto__ClockSnapshot__Clock clocks[2], *pointers[] = { &clocks[0], &clocks[1] };

  for (guint i = 0; i < G_N_ELEMENTS (clocks); i++)
    {
      lu__perfetto__clock_snapshot__clock__init (&clocks[i]);
      clocks[i].has_clock_id = clocks[i].has_timestamp = TRUE;
    }
  clocks[0].clock_id = CLOCK_MONOTONIC_ID;
  clocks[0].timestamp = (guint64) model->time;
  clocks[1].clock_id = CLOCK_OF_DAY;
  clocks[1].timestamp = date != NULL ? (guint64) g_date_time_to_unix (date) * 1000000000u : 0;
  snapshot.clocks = pointers;
  snapshot.n_clocks = date != NULL ? 2 : 1;
  snapshot.has_primary_trace_clock = TRUE;
  snapshot.primary_trace_clock = CLOCK_MONOTONIC_ID;
  source.source = (char *) "live-unwinder";
  defaults.has_timestamp_clock_id = TRUE;
  defaults.timestamp_clock_id = CLOCK_MONOTONIC_ID;
  defaults.stack_sample_defaults = &source;
  packet.clock_snapshot = &snapshot;
  packet.trace_packet_defaults = &defaults;
  lu_perfetto_write (self, &packet);
}

/* Tracks */

static void
write_track (LuPerfetto *self, Lu__Perfetto__TrackDescriptor *track)
{
  Lu__Perfetto__TracePacket packet = LU__PERFETTO__TRACE_PACKET__INIT;

  track->has_uuid = TRUE;
  packet.track_descriptor = track;
  lu_perfetto_write (self, &packet);
}

/* Numbers of tracks: processes from 1, then threads, then counters. */
static void
write_processes (LuPerfetto *self)
{
  for (guint i = 0; i < self->model->processes->len; i++)
    {
      const LuModelProcess *process = g_ptr_array_index (self->model->processes, i);
      Lu__Perfetto__TrackDescriptor track = LU__PERFETTO__TRACK_DESCRIPTOR__INIT;
      Lu__Perfetto__ProcessDescriptor described = LU__PERFETTO__PROCESS_DESCRIPTOR__INIT;
      char *command_line[] = { (char *) process->labels.command_line };

      track.uuid = 1 + i;
      track.process = &described;
      described.has_pid = TRUE;
      described.pid = process->pid;
      described.process_name = process->name;
      described.cmdline = command_line;
      described.n_cmdline = command_line[0][0] != 0 ? 1 : 0;
      write_track (self, &track);
    }
}

static void
write_threads (LuPerfetto *self)
{
  for (guint i = 0; i < self->model->threads->len; i++)
    {
      const LuModelThread *thread = lu_model_thread (self->model, i);
      Lu__Perfetto__TrackDescriptor track = LU__PERFETTO__TRACK_DESCRIPTOR__INIT;
      Lu__Perfetto__ThreadDescriptor described = LU__PERFETTO__THREAD_DESCRIPTOR__INIT;

      track.uuid = 1 + self->model->processes->len + i;
      track.has_parent_uuid = TRUE;
      track.parent_uuid = 1 + thread->process;
      track.thread = &described;
      described.has_pid = described.has_tid = TRUE;
      described.pid = thread->pid;
      described.tid = thread->tid;
      described.thread_name = (char *) thread->name;
      write_track (self, &track);
    }
}

/* Counters of the machine */

static guint64
track_of_counter (const LuPerfetto *self, guint32 counter)
{
  return 1 + self->model->processes->len + self->model->threads->len + (guint64) counter;
}

static void
write_counters (LuPerfetto *self)
{
  for (guint i = 0; i < self->model->counters->len; i++)
    {
      const LuModelCounter *counter = &g_array_index (self->model->counters, LuModelCounter, i);
      Lu__Perfetto__TrackDescriptor track = LU__PERFETTO__TRACK_DESCRIPTOR__INIT;
      Lu__Perfetto__TrackCounter described = LU__PERFETTO__TRACK_COUNTER__INIT;
      g_autofree char *name = g_strdup_printf ("%s: %s", counter->category, counter->name);

      track.uuid = track_of_counter (self, i);
      track.name = name;
      track.counter = &described;
      write_track (self, &track);
    }
  for (guint i = 0; i < self->model->values->len; i++)
    {
      const LuModelValue *value = &g_array_index (self->model->values, LuModelValue, i);
      Lu__Perfetto__TracePacket packet = LU__PERFETTO__TRACE_PACKET__INIT;
      Lu__Perfetto__TrackEvent event = LU__PERFETTO__TRACK_EVENT__INIT;

      event.has_type = event.has_track_uuid = TRUE;
      event.type = TYPE_COUNTER;
      event.track_uuid = track_of_counter (self, value->counter);
      if (g_array_index (self->model->counters, LuModelCounter, value->counter).is_real)
        {
          event.has_double_counter_value = TRUE;
          memcpy (&event.double_counter_value, &value->bits, sizeof value->bits);
        }
      else
        {
          event.has_counter_value = TRUE;
          event.counter_value = (gint64) value->bits;
        }
      packet.has_timestamp = TRUE;
      packet.timestamp = (guint64) value->time;
      packet.track_event = &event;
      lu_perfetto_write (self, &packet);
    }
}

/* Samples */

/* Returns how the walk of a stack failed, or NULL. */
static const char *
error_of (const LuModel *model, guint32 node)
{
  const LuModelFunction *root;

  if (node == 0)
    return NULL;
  for (guint32 above; (above = lu_model_node (model, node).parent) != 0;)
    node = above;
  root = lu_model_function_of (model, node);
  return root->kind == LU_CODE_STATE ? root->name : NULL;
}

static void
write_sample (LuPerfetto *self, const LuModelSample *sample)
{
  const LuModel *model = self->model;
  Lu__Perfetto__TracePacket packet = LU__PERFETTO__TRACE_PACKET__INIT;
  Lu__Perfetto__StackSample stack = LU__PERFETTO__STACK_SAMPLE__INIT;
  Lu__Perfetto__StackSample__ExecutionContext context =
      LU__PERFETTO__STACK_SAMPLE__EXECUTION_CONTEXT__INIT;
  guint64 weight = lu_model_sample_weight (model, sample);

  stack.has_task_context_iid = TRUE;
  stack.task_context_iid = 1 + sample->thread;
  stack.execution_context = &context;
  context.has_cpu = sample->cpu >= 0;
  context.cpu = context.has_cpu ? (guint32) sample->cpu : 0;
  if (sample->node != 0)
    {
      context.has_mode = TRUE;
      context.mode = lu_model_function_of (model, sample->node)->kind == LU_CODE_KERNEL
                         ? MODE_KERNEL
                         : MODE_USER;
      stack.has_callstack_iid = TRUE;
      stack.callstack_iid = sample->node;
      stack.unwind_error = (char *) error_of (model, sample->node);
    }
  stack.has_primary_descriptor_iid = stack.has_primary_weight = TRUE;
  stack.primary_descriptor_iid = 1 + sample->event;
  stack.primary_weight = weight > 0 ? weight : 1;
  packet.has_timestamp = TRUE;
  packet.timestamp = (guint64) sample->time;
  packet.stack_sample = &stack;
  lu_perfetto_write (self, &packet);
}

static void
write_perfetto (const LuModel *model, LuStream *stream)
{
  LuPerfetto self = { .model = model, .stream = stream };

  write_start (&self);
  write_processes (&self);
  write_threads (&self);
  lu_perfetto_write_tables (&self);
  for (guint i = 0; i < model->samples->len; i++)
    write_sample (&self, &g_array_index (model->samples, LuModelSample, i));
  write_counters (&self);
}

const LuFormat lu_format_perfetto = {
  .name = "perfetto",
  .suffixes = { ".pftrace", ".perfetto-trace" },
  .has_lines_of_functions = TRUE,
  .needs = LU_MODEL_TIMES,
  .write = write_perfetto,
};
