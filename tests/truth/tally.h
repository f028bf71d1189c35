/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tally.h - counts verdicts, and keeps each difference once per place.
 *
 * A difference is a frame for which a decider disagrees with the truth. Differences that known.txt
 * lists are expected, with its reason; a frame that libdw gets right and the table gets wrong is
 * never expected. */

#pragma once

#include "code.h"
#include "shadow.h"

#define VERDICT_LIST(X)                                                                            \
  X (RIGHT, "right", FALSE)                                                                        \
  X (PARTLY, "right, frame pointer or rbx not known", FALSE)                                       \
  X (NO_END, "outermost frame, no unwind information", FALSE)                                      \
  X (NOTHING, "no unwind information", FALSE)                                                      \
  X (LEFT, "left to the other engine", FALSE)                                                      \
  X (CFA, "cfa", TRUE)                                                                             \
  X (RETURN_ADDRESS, "return-address", TRUE)                                                       \
  X (SIGNAL, "signal", TRUE)                                                                       \
  X (FP, "rbp", TRUE)                                                                              \
  X (BX, "rbx", TRUE)                                                                              \
  X (END, "end", TRUE)                                                                             \
  X (FAILED, "failed", TRUE)

typedef enum
{
#define X(NAME, text, is_wrong) VERDICT_##NAME,
  VERDICT_LIST (X)
#undef X
      N_VERDICTS
} Verdict;

const char *verdict_text (Verdict verdict);
gboolean verdict_is_wrong (Verdict verdict);

typedef struct
{
  guint decider;
  Verdict verdict;
  const Place *place;
  guint64 n;
  guint64 truth, answer; /* what differed, the first time */
  FrameKind kind;        /* of the frame, the first time */
  gboolean is_worse;     /* libdw was right there */
  const char *reason;    /* from the known list; NULL: none */
} Difference;

typedef struct
{
  const DeciderList *deciders;
  guint64 n_steps;
  guint64 n_outside;  /* not in a file's code */
  guint64 n_leaving;  /* the frame is being left: it has no caller to speak of */
  guint64 n_unknown;  /* the caller called before the steps began */
  guint64 n_compared; /* innermost frames, that is steps */
  guint64 n_frames;   /* all frames */
  guint64 verdicts[MAX_DECIDERS][N_VERDICTS]; /* of all frames */
  guint64
      n_less[MAX_DECIDERS]; /* libdw is right; the decider leaves the frame, or a register, open */
  guint64 n_calls, n_bad_calls, n_returns, n_diverted, n_signals, n_bad_signals;
  GHashTable *differences; /* of Difference, by itself */
} Tally;

void tally_init (Tally *self, const DeciderList *deciders);
void tally_clear (Tally *self);
void tally_add (Tally *self, guint decider, Verdict verdict);
/* libdw's own verdict for the same frame makes a difference worse. */
void tally_add_difference (Tally *self, const Difference *difference);
/* Places where libdw is right and the decider is not. */
guint tally_count_worse (const Tally *self, guint decider);
/* Share of the frames that libdw gets right and the decider leaves open. */
double tally_percent_less (const Tally *self, guint decider);
/* Sorted by decider and place; free the array. */
GPtrArray *tally_differences (const Tally *self);
/* The rule that the decider went by; g_free() it. */
char *difference_rule (const Difference *self, const DeciderList *deciders);
