/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* follow.h - single steps of one thread of a running program, while its other threads run. */

#pragma once

#include "trial.h"

typedef struct
{
  guint n_windows; /* the program runs freely between them */
  guint n_steps;   /* of each window */
  guint warm_up_ms;
} FollowPlan;

/* Follows the thread that has used most CPU time before each window. Returns FALSE and sets *error
 * if the process has ended or cannot be traced. */
gboolean follow (pid_t pid, const FollowPlan *plan, Whole *whole, TrialCount *count,
                 GError **error);
