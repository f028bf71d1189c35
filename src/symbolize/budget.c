/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* budget.c - how much names may cost; see budget.h. */

#include "symbolize/budget.h"

#define ASK_INTERVAL_US 20000

/* The symbols and relocations of a browser are 100 MB. Names take 100 bytes at most on average, and
 * a recording has at most half a million of them; most have ten thousand. */
static const LuBudgetLimits file_limits = { 512u << 20, 8u << 20, 5 * G_USEC_PER_SEC };
static const LuBudgetLimits all_limits = { G_GUINT64_CONSTANT (8) << 30, 32u << 20,
                                           30 * G_USEC_PER_SEC };

void
lu_budget_init (LuBudget *self, gboolean (*goes_on) (gpointer), gpointer user_data)
{
  *self = (LuBudget){ .all = all_limits, .goes_on = goes_on, .user_data = user_data };
  self->all.time_us += g_get_monotonic_time ();
}

static gboolean
is_in_time (LuBudget *self)
{
  gint64 now = g_get_monotonic_time ();

  if (now >= self->file.time_us || now >= self->all.time_us)
    self->state = LU_BUDGET_TOO_SLOW;
  else if (now - self->asked_us >= ASK_INTERVAL_US)
    {
      self->asked_us = now;
      if (!self->goes_on (self->user_data))
        self->state = LU_BUDGET_STOPPED;
    }
  return self->state == LU_BUDGET_WITHIN;
}

gboolean
lu_budget_next_file (LuBudget *self)
{
  if (self->state == LU_BUDGET_STOPPED)
    return FALSE;
  self->state = LU_BUDGET_WITHIN;
  self->file = file_limits;
  self->file.time_us += g_get_monotonic_time ();
  self->asked_us = 0;
  return is_in_time (self);
}

static gboolean
take (LuBudget *self, guint64 *of_file, guint64 *of_all, guint64 bytes)
{
  if (self->state == LU_BUDGET_WITHIN && (bytes > *of_file || bytes > *of_all))
    self->state = LU_BUDGET_TOO_LARGE;
  if (self->state != LU_BUDGET_WITHIN)
    return FALSE;
  *of_file -= bytes;
  *of_all -= bytes;
  return TRUE;
}

gboolean
lu_budget_read (LuBudget *self, guint64 bytes)
{
  return self == NULL
         || (take (self, &self->file.bytes, &self->all.bytes, bytes) && is_in_time (self));
}

gboolean
lu_budget_keep (LuBudget *self, guint64 bytes)
{
  return self == NULL || take (self, &self->file.text, &self->all.text, bytes);
}
