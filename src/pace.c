/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pace.c - see pace.h. */

#include "pace.h"

/* How long to sleep when nothing wakes us: as long as something comes, and when it is quiet. */
#define WAIT_MS 250
/* The same after a round of stacks that were walked in the kernel, but for one of so many: rings
 * hold many of them, and they ask for nothing. Some copies always come, as of pages that are not
 * present. If more come than before, the rings wake us. */
#define WAIT_WALKED_MS 1000
#define WALKED_TO_COPY 16
#define WAIT_IDLE_MS   1000
/* For this long after the start, and after a stack that better copies would help, rounds come
 * quickly: until the copy has grown or its pages are present, each sample of the thread ends early.
 */
#define HURRY_US (G_USEC_PER_SEC)
/* The same, where the source knows best how long, but not what there is to do: when there are files
 * to open or processes to ask about while they live, and when these are so many that most have
 * ended before anything could be asked. */
#define WAIT_NEWS_MS  20
#define WAIT_STORM_MS 50
#define A_STORM       6
/* After side-band woke us, more of it usually follows at once; this much is taken in one go. While
 * it goes on like that, goes get larger: waking up costs more than what is read. */
#define SETTLE_US     1000
#define SETTLE_MAX_US 4000
/* The same where stacks are walked in the kernel: a process of some milliseconds should be known to
 * it before it is sampled. More often costs hardly more: what starts a program wakes us three times
 * in any case. */
#define SETTLE_MAPS_US 100
/* And where it was about processes that are not recorded only: a build next to a recorded program
 * wakes us a thousand times a second. */
#define SETTLE_OTHERS_US     1000
#define SETTLE_OTHERS_MAX_US 8000

void
lu_pace_init (LuPace *self, gboolean is_paced)
{
  *self = (LuPace){ .is_paced = is_paced, .settle_us = SETTLE_US, .others_us = SETTLE_OTHERS_US };
}

void
lu_pace_hurry (LuPace *self, gint64 now)
{
  self->hurry_until = now + HURRY_US;
}

static gboolean
is_in_hurry (LuPace *self, const LuPaceFacts *facts, gint64 now)
{
  if (facts->n_absent != self->n_absent || facts->is_cut_off)
    lu_pace_hurry (self, now);
  self->n_absent = facts->n_absent;
  return now < self->hurry_until;
}

int
lu_pace_wait_ms (LuPace *self, const LuPaceFacts *facts, gint64 now)
{
  gboolean is_in_need = is_in_hurry (self, facts, now);

  if (self->is_paced && facts->n_young > 0 && !facts->are_told)
    return facts->n_young < A_STORM ? WAIT_NEWS_MS : WAIT_STORM_MS;
  if (self->is_paced && facts->has_requests)
    return WAIT_NEWS_MS;
  if (self->is_paced && (facts->had_sideband || facts->n_young > 0))
    return WAIT_MS;
  if (is_in_need || facts->maps_wait)
    return LU_PACE_HURRY_MS;
  if (facts->n_young > 0)
    return LU_PACE_NAME_AGE_MS;
  if (facts->is_empty)
    return facts->is_unwritten ? WAIT_MS : WAIT_IDLE_MS;
  return facts->n_copies > facts->n_walked / WALKED_TO_COPY ? WAIT_MS : WAIT_WALKED_MS;
}

gulong
lu_pace_settle_us (LuPace *self, const LuPaceFacts *facts)
{
  gulong before;

  if (self->is_paced)
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
  return self->has_walks ? SETTLE_MAPS_US : before;
}
