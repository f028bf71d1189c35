/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* poll-scheduler.h - when the drain's next round is due.
 *
 * Waking up costs more than reading, so rounds come as seldom as the facts of the last one allow.
 * Drain thread. */

#pragma once

#include <glib.h>

/* The name of a process is queried when it is sampled, or when it is this old; it may end earlier
 * without being sampled. */
#define LU_POLL_NAME_AGE_MS 8
/* Time between rounds in a hurry. */
#define LU_POLL_HURRY_MS 5

/* Facts about a round. */
typedef struct
{
  gboolean is_empty;       /* nothing was read */
  gboolean had_sideband;   /* in this round */
  gboolean had_news;       /* some side-band was about recorded processes */
  gboolean has_new_thread; /* a recorded process has begun one */
  guint n_bpf_unwound;     /* stacks */
  guint n_copies;          /* samples with a copy of the stack */
  gboolean has_requests;   /* the worker has something to do, as files to open */
  gboolean maps_wait;      /* something cannot be published to BPF yet */
  gboolean is_unwritten;   /* the writer has messages and has not been woken */
  guint n_young;           /* processes whose names are queried when they are older */
  gboolean has_arguments;  /* BPF sends arguments at each exec, before any sample */
  gboolean is_cut_off;     /* stacks were cut off, and the copies can grow */
  guint64 n_absent;        /* stacks so far whose copy ended at a page that was not present */
} LuPollFacts;

typedef struct
{
  gboolean batches_itself; /* the source batches side-band itself; do not add delay */
  gboolean bpf_unwinds;    /* BPF unwinds */
  gulong settle_us;        /* time to let side-band gather, the next time */
  gulong others_us;        /* likewise, for side-band about processes that are not recorded */
  gint64 hurry_until;      /* us, monotonic */
  gint64 watch_until;      /* likewise: for threads that have just begun */
  guint64 n_absent;        /* LuPollFacts.n_absent of the last round */
} LuPollScheduler;

void lu_poll_scheduler_init (LuPollScheduler *self, gboolean batches_itself);

/* Makes rounds come quickly for a while, because they improve later samples. now: us, monotonic. */
void lu_poll_scheduler_hurry (LuPollScheduler *self, gint64 now);

/* Returns how long to wait for records at most, in ms. Once for each round. */
int lu_poll_scheduler_wait_ms (LuPollScheduler *self, const LuPollFacts *facts, gint64 now);

/* Returns how long to let side-band gather after this round, before waiting, in us. Once for each
 * round. */
gulong lu_poll_scheduler_settle_us (LuPollScheduler *self, const LuPollFacts *facts);
