/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source.h - where records come from: own perf events, handed-over descriptors, a perf.data file.
 *
 * One of the three vtables (LuSource, LuUnwinder, LuSink). A source belongs to the thread that
 * calls drain() (the drain thread); new(), prepare() and free() are called by the main thread while
 * no other runs. */

#pragma once

#include "lu/event.h"

#include <glib.h>

typedef struct _LuSource LuSource;
typedef struct _LuSourceOps LuSourceOps;

/* What the receiver of an event wants next. */
typedef enum
{
  LU_VERDICT_DONE,  /* the event was used, its record may be given back */
  LU_VERDICT_LATER, /* no room just now: keep the record (samples only) and offer it again next
                       round */
} LuVerdict;

typedef LuVerdict (*LuEventFunc) (const LuEvent *event, gpointer user_data);

/* What drain() did. */
typedef enum
{
  LU_ROUND_EMPTY,  /* nothing to read now */
  LU_ROUND_CLOSED, /* something was read, and every sample committed before the round began was
                      handled */
  LU_ROUND_OPEN,   /* something was read, but samples of this round are still unread
                      (LU_VERDICT_LATER) */
  LU_ROUND_END,    /* the source has ended for good (end of file, all tasks gone) */
} LuRound;

/* Who walks stacks where they are sampled. */
typedef struct
{
  /* A sampling event is open on a CPU; what is written to output_fd comes out of drain() as
   * LU_EVENT_WALKED. Both are borrowed: the sampler stays open, the output only during the call. */
  gboolean (*attach) (int cpu, int sampler_fd, int output_fd, gpointer user_data, GError **error);
  gpointer user_data;
} LuSamplerHook;

typedef struct
{
  const char *event_name; /* "cycles", "cpu-clock", …; borrowed from the source */
  double frequency;       /* Hz asked for; 0 unknown */
  guint64 period;         /* fixed period in events or ns; 0 when the kernel adapts it */
  guint32 stack_size;     /* bytes of stack asked for per sample, as of now */
  guint n_rings;
  gsize ring_bytes;        /* all rings together, data pages */
  gsize ring_size;         /* of one sample ring; 0 if there are none */
  gsize ring_size_wanted;  /* what the rate asks for; more than ring_size where the mlock limit
                              pressed */
  gboolean kernel_samples; /* kernel mode is sampled */
  gboolean cpu_wide;
  gboolean has_chains_only;  /* files: of samples without registers, as finished callchains */
  gboolean has_lost_counter; /* lost_samples is exact (PERF_FORMAT_LOST, Linux 6.0), else a lower
                                bound */
  gboolean live;             /* the sampled processes exist now; FALSE for files */
  gboolean is_paced;  /* wait() sees to it that side-band comes in goes worth waking up for */
  gboolean lossless;  /* the source waits for us: LU_VERDICT_LATER never loses anything */
  guint64 start_time; /* ns, files: the earliest time of a record; 0 unknown */
  const char
      *os_release; /* files: kernel the records come from; NULL unknown. Borrowed, as below */
  const char *kernel_symbol; /* files: name of a symbol of that kernel, and where it was; NULL
                                unknown */
  guint64 kernel_address;
  const char *command_line; /* files: how they were recorded; NULL unknown */
  const char *trouble;      /* files: why records are missing, for people; NULL if none are */
} LuSourceInfo;

typedef struct
{
  guint64 records;          /* decoded, of all kinds */
  guint64 malformed;        /* refused by the decoder */
  guint64 sample_bytes;     /* of the records of samples, with registers and stack */
  guint64 walked_bytes;     /* of those of stacks that were walked in the kernel */
  guint64 lost_samples;     /* see has_lost_counter */
  guint64 lost_sideband;    /* LOST records in side-band rings */
  guint64 throttled;        /* THROTTLE records */
  guint cpu_changes;        /* times that CPUs came or went */
  guint64 task_clock_ns;    /* CPU time of what was sampled, 0 unknown */
  guint64 expected_samples; /* from counted events or time and the period; 0 unknown */
} LuSourceStats;

struct _LuSourceOps
{
  const char *name;
  /* Optional, before start(): the hook is called for each sampling event that there is, and for
   * those that come later. On failure nothing is attached any more (but for the program, which the
   * hook's owner has to take away), and samples are as they would be without. */
  gboolean (*attach) (LuSource *self, const LuSamplerHook *hook, GError **error);
  /* Starts (or resumes) sampling; side-band has been on since new(). */
  gboolean (*start) (LuSource *self, GError **error);
  /* One round: loads the heads of all sample rings, delivers all side-band, then the samples up to
   * the loaded heads. */
  LuRound (*drain) (LuSource *self, LuEventFunc func, gpointer user_data);
  /* Optional: how full the fullest sample ring is, 0 to 1. */
  double (*get_fill) (LuSource *self);
  /* Blocks until there is something to drain, `timeout_ms` passed or `wake_fd` is readable. */
  void (*wait) (LuSource *self, int wake_fd, int timeout_ms);
  /* Stops sampling; what is in the rings can still be drained. */
  void (*stop) (LuSource *self);
  /* Optional: asks for a larger stack copy from now on. FALSE if it cannot be had. */
  gboolean (*set_stack_size) (LuSource *self, guint32 bytes, GError **error);
  /* Optional: looks after the world (CPUs that came or went); called about once a second. */
  void (*tick) (LuSource *self);
  void (*get_info) (LuSource *self, LuSourceInfo *info);
  void (*get_stats) (LuSource *self, LuSourceStats *stats);
  void (*free) (LuSource *self);
};

/* Embedded as the first member of every source. */
struct _LuSource
{
  const LuSourceOps *ops;
};

static inline void
lu_source_free (LuSource *self)
{
  if (self != NULL)
    self->ops->free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSource, lu_source_free)
