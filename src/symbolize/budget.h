/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* budget.h - how many bytes, how much time and how much text names may cost, for one file and for
 * all.
 *
 * Files are hostile, so everything that reads them for names asks here first. The budget of a file
 * is set again for each file; the budget of all files is not. Used by namer.c and below it.
 * Functions take NULL for no limits. One thread. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_BUDGET_WITHIN,
  LU_BUDGET_TOO_LARGE, /* too many bytes to read, or too much text */
  LU_BUDGET_TOO_SLOW,
  LU_BUDGET_STOPPED, /* the caller wants no more names */
} LuBudgetState;

typedef struct
{
  guint64 bytes;  /* to be read */
  guint64 text;   /* bytes of names to be kept */
  gint64 time_us; /* to be spent */
} LuBudgetLimits;

typedef struct
{
  LuBudgetLimits file, all; /* what is left; times are those at which it is over */
  gint64 asked_us;          /* when goes_on() was called last */
  gboolean (*goes_on) (gpointer user_data);
  gpointer user_data;
  LuBudgetState state;
} LuBudget;

/* Begins with all of the budget, before the first file. goes_on: called many times a second; FALSE
 * ends it. */
void lu_budget_init (LuBudget *self, gboolean (*goes_on) (gpointer), gpointer user_data);
/* Begins another file. FALSE if nothing is left for it. */
gboolean lu_budget_next_file (LuBudget *self);

/* Call this before reading that many bytes or keeping them as text. FALSE if they are too many;
 * then everything else fails, too, until the next file. */
gboolean lu_budget_read (LuBudget *self, guint64 bytes);
gboolean lu_budget_keep (LuBudget *self, guint64 bytes);
