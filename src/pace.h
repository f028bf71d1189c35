/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pace.h - when the drain's next round is due.
 *
 * Each wake-up costs more than what is read in it, so rounds come as seldom as what the last one
 * met allows. */

#pragma once

#include <glib.h>

/* What a process is called is asked about when it is sampled, or when it has lived for so long: one
 * that ends before may never be. */
#define LU_PACE_NAME_AGE_MS 8
/* How often rounds come in a hurry. */
#define LU_PACE_HURRY_MS 5

/* What is known after a round. */
typedef struct
{
  gboolean is_empty;     /* nothing was read */
  gboolean had_sideband; /* in this round */
  gboolean had_news;     /* and some of it was about what is recorded */
  guint n_walked;        /* stacks that were walked in the kernel */
  guint n_copies;        /* samples that were not */
  gboolean has_requests; /* files that were not known, or the worker has something to do */
  gboolean maps_wait;    /* something could not be published yet */
  gboolean is_unwritten; /* the writer has not been told of what there is for it */
  guint n_young;         /* processes that are to be asked about when they have lived for a while */
  gboolean are_told;     /* arguments of processes come before their samples */
  gboolean is_cut_off;   /* stacks were, and the copies can grow */
  guint64 n_absent;      /* stacks, ever, whose copy ended at a page that was not present */
} LuPaceFacts;

typedef struct
{
  gboolean is_paced;  /* the source sees to it that side-band comes in goes worth waking up for */
  gboolean has_walks; /* in the kernel */
  gulong settle_us;   /* the next time */
  gulong others_us;   /* the same, where nothing of it is recorded */
  gint64 hurry_until; /* us, monotonic */
  guint64 n_absent;   /* as of the last round */
} LuPace;

void lu_pace_init (LuPace *self, gboolean is_paced);

/* Rounds come quickly for a while: what they find out makes later samples better. `now`: us,
 * monotonic. */
void lu_pace_hurry (LuPace *self, gint64 now);

/* How long to wait for something to come: ms. Once for each round. */
int lu_pace_wait_ms (LuPace *self, const LuPaceFacts *facts, gint64 now);

/* How long to let side-band gather after this round, before waiting: us, 0: not at all. Where the
 * source is paced there is no need to. */
gulong lu_pace_settle_us (LuPace *self, const LuPaceFacts *facts);
