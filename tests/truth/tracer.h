/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracer.h - runs a program one instruction at a time, keeps the shadow stacks of its threads and
 * compares at each step. */

#pragma once

#include "tally.h"

#include <sys/syscall.h>

/* The system call by which a program says: from here on, and again: no further. Until the first
 * one, and between every second one and the next, it runs at full speed. */
#define MARKER SYS_getppid

typedef struct
{
  const char *const *argv;
  gboolean has_marker; /* the program has MARKER in it */
  guint n_skipped;     /* system calls at full speed before the steps begin */
  guint64 max_steps;
  double max_seconds;
} Plan;

/* Why programs cannot be traced here; NULL if they can. */
const char *tracer_obstacle (void);
/* TRUE when the program ended, or the steps were made or the time was over; it is killed then. */
gboolean tracer_run (const Plan *plan, const DeciderList *deciders, Tally *tally, GError **error);
