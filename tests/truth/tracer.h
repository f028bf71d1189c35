/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracer.h - runs a program one instruction at a time, keeps the shadow stacks of its threads and
 * compares at each step. */

#pragma once

#include "tally.h"

#include <sys/syscall.h>

/* The system call with which a program says "start here", and again "stop here". Until the first
 * one, and between every second one and the next, the program runs at full speed. */
#define MARKER SYS_getppid

typedef struct
{
  const char *const *argv;
  gboolean has_marker; /* the program has MARKER in it */
  guint n_skipped;     /* system calls at full speed before the steps begin */
  guint64 max_steps;
  double max_seconds;
} Plan;

/* Returns why programs cannot be traced here; NULL if they can. */
const char *tracer_obstacle (void);
/* Returns TRUE when the program ended, all steps were made or the time was over; the program is
 * killed then. */
gboolean tracer_run (const Plan *plan, const DeciderList *deciders, Tally *tally, GError **error);
