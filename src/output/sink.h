/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sink.h - where finished stacks go: the output vtable.
 *
 * A sink belongs to the writer thread; it may block, nobody waits for it. Calls come in the order
 * begin, any of the others, end. A call that fails ends the recording with that error; what was
 * written stays readable. */

#pragma once

#include "lu/stack.h"
#include "process/process.h"
#include "process/space.h"

#include <glib.h>

typedef struct _LuSink LuSink;
typedef struct _LuSinkOps LuSinkOps;

/* What is known when the recording starts. */
typedef struct
{
  guint64 start_time;  /* ns, CLOCK_MONOTONIC: no frame is earlier */
  gint64 wall_clock;   /* µs since the epoch at start_time */
  const char *command; /* command line of what is recorded ("live-unwinder --pid 1"), UTF-8 */
  gboolean live;       /* of this machine, now: kallsyms, mounts and uname may be read */
  const char *engine;
  const char *event_name;
  double frequency; /* Hz; 0 unknown */
  guint32 stack_size;
  gboolean has_chains_only; /* stacks are callchains as they were found, complete or not */
  gboolean redact; /* nothing that tells more than where the time went, see docs/syscap.md */
} LuRecording;

/* One finished sample. Frames are leaf first: kernel frames, then user frames, see LU_FRAME_*. */
typedef struct
{
  guint64 time;
  guint64 period;
  gint32 cpu;
  gint32 pid, tid;
  LuStatus status;
  guint32 n_kernel, n_user;
  const LuFrame *kernel, *user; /* borrowed */
  LuProcess *process;           /* borrowed; NULL for tasks without one (kernel threads, pid 0) */
  LuSpace *space; /* borrowed; the version of the sample's time; NULL without user frames */
} LuSinkSample;

struct _LuSinkOps
{
  const char *name;
  const char *suffix; /* of file names this sink is chosen for, ".syscap" */
  gboolean (*begin) (LuSink *self, const LuRecording *recording, GError **error);
  gboolean (*sample) (LuSink *self, const LuSinkSample *sample, GError **error);
  /* A task began (a process or, pid != child pid's leader, a thread) or ended. */
  gboolean (*fork) (LuSink *self, guint64 time, gint32 pid, gint32 child_pid, GError **error);
  gboolean (*exit) (LuSink *self, guint64 time, gint32 pid, GError **error);
  /* A line for the reader of the capture: losses, throttling. */
  gboolean (*log) (LuSink *self, guint64 time, const char *message, GError **error);
  /* A key (at most 39 bytes) and a text, any time: end-state summary, settings. */
  gboolean (*metadata) (LuSink *self, const char *key, const char *text, GError **error);
  /* Called once a second or more often: writes out what is buffered, so that a killed recorder
   * loses little. */
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
