/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* trial.h - whole stacks of one thread, compared step by step with its shadow stack.
 *
 * The shadow begins in the middle of a run, so its outermost callers are not known, and the inner
 * ones are compared. A stack that is called complete and differs from the shadow is only accused:
 * code that generates code also makes calls by other means than a call. It is wrong when the
 * function returns to the caller of which the shadow knew. */

#pragma once

#include "thread.h"
#include "whole.h"

typedef struct
{
  guint64 n_judged;     /* complete stacks, of which the shadow knew callers */
  guint64 n_frames;     /* compared in them */
  guint64 n_incomplete; /* stacks that end in a named state */
  guint64 n_local;      /* calls within a function that are not in the stack: not compared */
  guint64 n_wrong;
  guint64 n_unproved; /* the shadow was wrong, or the function was left by other means */
  guint64 n_open;     /* the function had not returned at the end */
} EngineCount;

typedef struct
{
  guint64 n_steps;
  guint64 n_unknown;  /* steps at which no caller was known: not judged */
  guint64 n_restarts; /* of the shadow, because the stack was switched or a handler moved on */
  guint64 n_pushed;   /* return addresses that code without a file pushed by itself */
  guint64 n_strange;  /* returns to elsewhere */
  EngineCount engines[N_ENGINES];
} TrialCount;

typedef struct _Trial Trial;

/* All are borrowed. Wrong stacks are printed, at most a few. */
Trial *trial_new (Thread *thread, Whole *whole, TrialCount *count);
/* Counts what is still open. */
void trial_free (Trial *self);
/* The thread has made a step, or is about to get a signal. `is_judged`: compare its stack. */
void trial_step (Trial *self, int signal_number, gboolean is_judged);
/* Whether accusations are open. */
gboolean trial_is_open (const Trial *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Trial, trial_free)
