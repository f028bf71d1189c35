/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* poll-scheduler.c - see poll-scheduler.h. */

#include "poll-scheduler.h"

/* Longest sleep while records come. The source may wake us earlier. */
#define WAIT_MS 250
/* Longest sleep after a round in which BPF unwound all stacks but one of UNWOUND_PER_COPY: rings
 * hold many such stacks, and they need nothing from us. There are always a few copies, as of stacks
 * with pages that are not present. If more come, full rings wake us. */
#define WAIT_UNWOUND_MS  1000
#define UNWOUND_PER_COPY 16
/* Longest sleep when nothing came. */
#define WAIT_IDLE_MS 1000
/* Rounds come quickly for this long after the start, and after a stack that a better copy would
 * have completed: until the copy grows or its pages are present, each sample of that thread ends
 * early. */
#define HURRY_US (G_USEC_PER_SEC)
/* After a recorded process has begun a thread: the longest sleep, and how long rounds come like
 * that. The copies of a new thread may end at pages that are not present. */
#define WAIT_THREAD_MS 20
#define WATCH_US       (200 * 1000)
/* For sources that batch side-band themselves: longest sleep while there are files to open or young
 * processes to ask about, and while at least A_STORM processes are young. Most of them end
 * before anything could be asked. */
#define WAIT_NEWS_MS  20
#define WAIT_STORM_MS 50
#define A_STORM       6
/* After side-band woke us, more of it usually follows at once, so let it gather for this long.
 * While more keeps coming, the time doubles: waking up costs more than reading. */
#define SETTLE_US     1000
#define SETTLE_MAX_US 4000
/* The time to gather while BPF unwinds: it should know a process of some milliseconds before that
 * is sampled. Short times cost little: starting a program wakes us three times in any case. */
#define SETTLE_MAPS_US 100
/* The time to gather after side-band about processes that are not recorded: a build next to a
 * recorded program wakes us a thousand times a second. */
#define SETTLE_OTHERS_US     1000
#define SETTLE_OTHERS_MAX_US 8000

void
lu_poll_scheduler_init (LuPollScheduler *self, gboolean batches_itself)
{
  *self = (LuPollScheduler){ .batches_itself = batches_itself,
                             .settle_us = SETTLE_US,
                             .others_us = SETTLE_OTHERS_US };
}

void
lu_poll_scheduler_hurry (LuPollScheduler *self, gint64 now)
{
  self->hurry_until = now + HURRY_US;
}

static gboolean
is_in_hurry (LuPollScheduler *self, const LuPollFacts *facts, gint64 now)
{
  if (facts->n_absent != self->n_absent || facts->is_cut_off)
    lu_poll_scheduler_hurry (self, now);
  self->n_absent = facts->n_absent;
  return now < self->hurry_until;
}

int
lu_poll_scheduler_wait_ms (LuPollScheduler *self, const LuPollFacts *facts, gint64 now)
{
  gboolean is_in_need = is_in_hurry (self, facts, now);

  if (facts->has_new_thread)
    self->watch_until = now + WATCH_US;
  if (self->batches_itself && facts->n_young > 0 && !facts->has_arguments)
    return facts->n_young < A_STORM ? WAIT_NEWS_MS : WAIT_STORM_MS;
  if (self->batches_itself && facts->has_requests)
    return WAIT_NEWS_MS;
  if (self->batches_itself && (facts->had_sideband || facts->n_young > 0))
    return WAIT_MS;
  if (is_in_need || facts->maps_wait)
    return LU_POLL_HURRY_MS;
  if (facts->n_young > 0)
    return LU_POLL_NAME_AGE_MS;
  if (now < self->watch_until)
    return WAIT_THREAD_MS;
  if (facts->is_empty)
    return facts->is_unwritten ? WAIT_MS : WAIT_IDLE_MS;
  return facts->n_copies > facts->n_bpf_unwound / UNWOUND_PER_COPY ? WAIT_MS : WAIT_UNWOUND_MS;
}

gulong
lu_poll_scheduler_settle_us (LuPollScheduler *self, const LuPollFacts *facts)
{
  gulong before;

  if (self->batches_itself)
    return 0;
  if (!facts->had_sideband)
    {
      self->settle_us = SETTLE_US;
      self->others_us = SETTLE_OTHERS_US;
      return 0;
    }
  if (!facts->had_news)
    {
      before = self->others_us;
      self->others_us = MIN (before * 2, SETTLE_OTHERS_MAX_US);
      return before;
    }
  before = self->settle_us;
  self->settle_us = MIN (before * 2, SETTLE_MAX_US);
  self->others_us = SETTLE_OTHERS_US;
  return self->bpf_unwinds ? SETTLE_MAPS_US : before;
}
