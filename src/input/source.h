/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source.h - where records come from: our own perf events, inherited events, or a perf.data file.
 *
 * LuSource is the vtable of a source; docs/HOWTO-add-a-source.md says how to add one. A source
 * belongs to the thread that calls drain(), the drain thread. The main thread creates and frees it
 * while no other thread runs. */

#pragma once

#include "base/counters.h"
#include "lu/event.h"

typedef struct _LuSource LuSource;
typedef struct _LuSourceOps LuSourceOps;

/* The receiver's answer to an event. */
typedef enum
{
  LU_VERDICT_DONE,  /* the event was used; its record may be released */
  LU_VERDICT_LATER, /* no room now: keep the record (samples only) and offer it again in the next
                       round */
} LuVerdict;

typedef LuVerdict (*LuEventFunc) (const LuEvent *event, gpointer user_data);

/* Result of drain(). */
typedef enum
{
  LU_ROUND_EMPTY,  /* nothing to read now */
  LU_ROUND_CLOSED, /* something was read, and every sample committed before the round began was
                      handled */
  LU_ROUND_OPEN,   /* something was read, but samples of this round are still unread
                      (LU_VERDICT_LATER) */
  LU_ROUND_END,    /* the source has ended for good (end of file, all tasks gone) */
} LuRound;

/* Called for each sampling event, so that a BPF program can unwind there. */
typedef struct
{
  /* A sampling event is open on a CPU. Data written to output_fd comes out of drain() as
   * LU_EVENT_BPF_UNWOUND. Both descriptors are borrowed: the sampler stays open, the output only
   * during the call. */
  gboolean (*attach) (int cpu, int sampler_fd, int output_fd, gpointer user_data, GError **error);
  gpointer user_data;
} LuSamplerHook;

typedef struct
{
  const LuEventInfo *events; /* at least one; borrowed from the source */
  guint n_events;
  double frequency;   /* requested, in Hz; 0: unknown */
  guint32 stack_size; /* bytes of stack requested per sample now */
  guint n_rings;
  gsize ring_bytes;        /* all rings together, data pages */
  gsize ring_size;         /* bytes of one sample ring; 0: no rings */
  gsize ring_size_wanted;  /* for the requested rate; more than ring_size if the mlock limit was
                              reached */
  gboolean kernel_samples; /* kernel mode is sampled */
  gboolean cpu_wide;
  gboolean has_chains_only; /* files: samples have no registers, only finished callchains */
  gboolean
      has_lost_counter; /* lost_samples is exact (PERF_FORMAT_LOST, Linux 6.0), not a lower bound */
  gboolean live;        /* the sampled processes exist now; FALSE for files */
  gboolean batches_itself; /* the source batches side-band itself; do not add delay */
  gboolean lossless;       /* the source waits for us: LU_VERDICT_LATER never loses anything */
  guint64 start_time;      /* files: earliest time of a record, ns; 0: unknown */
  const char
      *os_release; /* files: kernel that was recorded; NULL: unknown. Borrowed, like all below */
  const char *kernel_symbol; /* files: name and address of a symbol of that kernel; NULL: unknown */
  guint64 kernel_address;
  const char *command_line; /* files: how they were recorded; NULL: unknown */
  const char *trouble;      /* files: why records are missing, for people; NULL if none are */
} LuSourceInfo;

struct _LuSourceOps
{
  const char *name;
  /* Optional, before start(): calls the hook for each sampling event, and for those that are opened
   * later. On failure nothing is attached any more (the hook's owner removes the program), and
   * samples arrive as without it. */
  gboolean (*attach) (LuSource *self, const LuSamplerHook *hook, GError **error);
  /* Starts (or resumes) sampling; side-band has been on since new(). */
  gboolean (*start) (LuSource *self, GError **error);
  /* Runs one round: loads the heads of all sample rings, delivers all side-band, then the samples
   * up to the loaded heads. */
  LuRound (*drain) (LuSource *self, LuEventFunc func, gpointer user_data);
  /* Optional: returns how full the fullest sample ring is, 0 to 1. */
  double (*get_fill) (LuSource *self);
  /* Blocks until there is something to drain, `timeout_ms` passed or `wake_fd` is readable. */
  void (*wait) (LuSource *self, int wake_fd, int timeout_ms);
  /* Stops sampling; what is in the rings can still be drained. */
  void (*stop) (LuSource *self);
  /* Optional: requests a larger stack copy from now on. Returns FALSE if that is not possible. */
  gboolean (*set_stack_size) (LuSource *self, guint32 bytes, GError **error);
  /* Optional: follows CPUs that come or go; called about once a second. */
  void (*tick) (LuSource *self);
  void (*get_info) (LuSource *self, LuSourceInfo *info);
  /* Optional: brings those counters up to date that the kernel keeps. Thread of drain(). */
  void (*update_counters) (LuSource *self);
  void (*free) (LuSource *self);
};

/* Embedded as the first member of every source. */
struct _LuSource
{
  const LuSourceOps *ops;
  LuCounters counters;
};

static inline void
lu_source_update_counters (LuSource *self)
{
  if (self->ops->update_counters != NULL)
    self->ops->update_counters (self);
}

static inline void
lu_source_free (LuSource *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSource, lu_source_free)
