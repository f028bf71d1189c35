/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sink.h - the vtable of outputs, which receive finished samples.
 *
 * A sink belongs to the writer thread. It may block; nothing waits for it. The calls are begin,
 * then any other operations, then end. A call that fails ends the recording with its error;
 * everything written before stays readable. docs/HOWTO-add-a-sink.md describes the steps. */

#pragma once

#include "interp/functions.h"
#include "lu/stack.h"
#include "process/process.h"

typedef struct _LuSink LuSink;
typedef struct _LuSinkOps LuSinkOps;

/* Facts about a recording that are known when it starts. */
typedef struct
{
  guint64 start_time;   /* ns, CLOCK_MONOTONIC: no frame is earlier */
  gint64 wall_clock;    /* µs since the epoch at start_time */
  const char *command;  /* command line of the recorder ("live-unwinder --pid 1"), UTF-8 */
  char *const *spawned; /* what the recorder started, NULL-terminated; NULL: nothing; borrowed */
  gboolean live;        /* it is made on this machine now: kallsyms, mounts and uname may be read */
  const char *engine;
  const LuEventInfo *events; /* what is sampled; borrowed while the sink lives */
  guint n_events;            /* 0: unknown */
  double frequency;          /* Hz; 0: unknown */
  guint32 stack_size;
  gboolean
      has_chains_only;    /* stacks are recorded callchains, and it is unknown which are complete */
  gboolean native_frames; /* of interpreters stay beside their functions */
  gboolean counters;      /* with how busy the machine is, once a second; only if it is live */
  gboolean redact;        /* leave out private data, see docs/syscap.md */
} LuRecording;

/* One finished sample. Frames are leaf first: kernel frames, then user frames, see LU_FRAME_*. */
typedef struct
{
  guint64 time;
  guint64 weight; /* its own; lu_event_weight() returns what the sample stands for */
  guint32 event;  /* index among the events of the recording */
  gint32 cpu;
  gint32 pid, tid;
  LuStatus status;
  guint32 n_kernel, n_user;
  const LuFrame *kernel, *user; /* borrowed */
  /* The user frames without functions of interpreters. NULL: they have none. Borrowed. */
  const LuFrame *native;
  guint32 n_native;
  const LuFunctions *functions; /* borrowed until the end; NULL: none */
  const char *thread_name;      /* borrowed; "" or NULL: unknown */
  LuProcess *process;           /* borrowed; NULL for tasks without one (kernel threads, pid 0) */
  LuAddressSpace
      *space; /* borrowed: the version at the time of the sample; NULL without user frames */
} LuSinkSample;

struct _LuSinkOps
{
  const char *name;
  const char *suffix; /* of file names that select this sink, ".syscap" */
  gboolean (*begin) (LuSink *self, const LuRecording *recording, GError **error);
  gboolean (*sample) (LuSink *self, const LuSinkSample *sample, GError **error);
  /* A process began or ended. If child_pid is pid, a thread began. */
  gboolean (*fork) (LuSink *self, guint64 time, gint32 pid, gint32 child_pid, GError **error);
  gboolean (*exit) (LuSink *self, guint64 time, gint32 pid, GError **error);
  /* A line for people who read the capture, about losses or throttling. */
  gboolean (*log) (LuSink *self, guint64 time, const char *message, GError **error);
  /* A key of at most 39 bytes and a text, at any time: settings, statistics. */
  gboolean (*metadata) (LuSink *self, const char *key, const char *text, GError **error);
  /* Writes out buffered data. Called at least once a second, so that a killed recorder loses
   * little. */
  gboolean (*flush) (LuSink *self, GError **error);
  gboolean (*end) (LuSink *self, guint64 end_time, GError **error);
  guint64 (*bytes_written) (LuSink *self);
  void (*free) (LuSink *self);
};

struct _LuSink
{
  const LuSinkOps *ops;
};

static inline void
lu_sink_free (LuSink *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSink, lu_sink_free)
