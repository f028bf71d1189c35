/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.c - prints counts per decider, then wrong frames by place, then frames that a decider
 * leaves open, by function. */

#include "report.h"

#include <stdio.h>
#include <string.h>

static void
print_counts (const Tally *tally)
{
  guint n_places = 0;
  const GPtrArray *modules = code_modules ();

  for (guint i = 0; i < modules->len; i++)
    n_places += ((const Module *) modules->pdata[i])->n_places;
  printf ("# %lu steps in %u modules, %u distinct places; %lu steps compared, %lu frames\n",
          tally->n_steps, modules->len, n_places, tally->n_compared, tally->n_frames);
  printf ("# not compared: %lu called before the first step, %lu leaving their frame, "
          "%lu in no file\n",
          tally->n_unknown, tally->n_leaving, tally->n_outside);
  printf ("# the truth about itself: %lu calls (%lu not understood), %lu returns to the call, "
          "%lu elsewhere, %lu signals (%lu that did not return)\n",
          tally->n_calls, tally->n_bad_calls, tally->n_returns, tally->n_diverted, tally->n_signals,
          tally->n_bad_signals);
  for (guint i = 0; i < tally->deciders->n; i++)
    for (guint k = 0; k < N_VERDICTS; k++)
      if (tally->verdicts[i][k] > 0)
        printf ("# %s: %lu frames: %s\n", tally->deciders->at[i]->name, tally->verdicts[i][k],
                verdict_text (k));
}

static void
print_wrong (const Difference *self, const DeciderList *deciders)
{
  static const char *const kinds[] = { "running", "interrupted", "calling" };
  g_autofree char *rule = difference_rule (self, deciders);

  printf ("# %s%s: %s: %s %#lx in %s (%s), %lu times: truth %#lx, answer %#lx; %s%s\n",
          self->is_worse ? "WORSE " : "", deciders->at[self->decider]->name,
          verdict_text (self->verdict), self->place->module->name, self->place->address,
          place_function (self->place), kinds[self->kind], self->n, self->truth, self->answer, rule,
          self->reason != NULL ? "" : "; NOT LISTED");
}

/* Differences that one line covers: those that one line of the list explains, or a function's
 * places. */
static gboolean
is_same_line (const Difference *a, const Difference *b)
{
  if (a->decider != b->decider || a->verdict != b->verdict || a->place->module != b->place->module
      || a->reason != b->reason)
    return FALSE;
  return a->reason != NULL || strcmp (place_function (a->place), place_function (b->place)) == 0;
}

/* Prints all differences that share the line of differences[start], at the first one. */
static void
print_line (const GPtrArray *differences, guint start, const DeciderList *deciders)
{
  const Difference *first = differences->pdata[start];
  guint64 n = 0;
  guint n_places = 0;

  for (guint i = 0; i < differences->len; i++)
    {
      const Difference *other = differences->pdata[i];

      if (!is_same_line (first, other))
        continue;
      if (i < start)
        return;
      n += other->n;
      n_places++;
    }
  printf ("# %s: %s: %s %s, from %#lx: %u places, %lu times%s%s\n",
          deciders->at[first->decider]->name, verdict_text (first->verdict),
          first->place->module->name, place_function (first->place), first->place->address,
          n_places, n, first->reason != NULL ? ": " : "",
          first->reason != NULL ? first->reason : "");
}

static void
print_differences (const GPtrArray *differences, const DeciderList *deciders)
{
  for (guint i = 0; i < differences->len; i++)
    {
      const Difference *self = differences->pdata[i];

      if (self->is_worse || (verdict_is_wrong (self->verdict) && self->reason == NULL))
        print_wrong (self, deciders);
      else
        print_line (differences, i, deciders);
    }
}

guint
report_tally (const Tally *tally, const Known *known)
{
  g_autoptr (GPtrArray) differences = tally_differences (tally);
  guint n_unlisted = 0;

  for (guint i = 0; i < differences->len; i++)
    {
      Difference *difference = differences->pdata[i];

      if (known != NULL && verdict_is_wrong (difference->verdict))
        difference->reason = known_reason (known, tally->deciders, difference);
      n_unlisted += verdict_is_wrong (difference->verdict) && difference->reason == NULL ? 1 : 0;
    }
  print_counts (tally);
  print_differences (differences, tally->deciders);
  fflush (stdout);
  return n_unlisted;
}
