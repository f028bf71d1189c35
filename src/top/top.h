/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* top.h - shows the functions of a recording while it goes on. */

#pragma once

#include "session/options.h"

typedef struct
{
  double window, interval; /* seconds */
  guint n_tables;          /* to be printed; 0: there is a screen, or no end */
  gboolean is_batch;       /* print tables even to a terminal */
} LuTopOptions;

/* Records and shows. Tells the user of errors. Returns the exit code of the program. */
int lu_top_run (const LuOptions *recording, const LuTopOptions *options);
