/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* check.h - two engines on every sample, compared.
 *
 * `--engine check` is dwfl and table; tests and replays of recorded samples compare others, and
 * look at each difference themselves. */

#pragma once

#include "unwind/unwinder.h"

typedef struct
{
  const LuStack *reference, *tested; /* borrowed */
  guint frame;        /* the first one that differs; n_frames of both: only the state */
  const char *report; /* lines, each with its newline */
} LuDifference;

/* Called once for each place in code at which the engines disagree (up to a limit). */
typedef void (*LuDifferenceFunc) (const LuDifference *difference, gpointer user_data);

/* Takes both engines; what goes on is the stack of `reference`. func: NULL for standard error. */
LuUnwinder *lu_check_new (LuUnwinder *reference, LuUnwinder *tested, LuDifferenceFunc func,
                          gpointer user_data);
