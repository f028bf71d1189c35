/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.c - the lines of a table, on a screen or in a file; see screen.h. */

#include "screen.h"

#include <glib/gi18n.h>
#include <inttypes.h>

static double
percent (guint64 part, guint64 whole)
{
  return whole > 0 ? 100.0 * (double) part / (double) whole : 0.0;
}

char *
lu_top_heading (const LuTopQuery *query)
{
  static const char *const things[] = { N_ ("FUNCTION"), N_ ("    PID  COMMAND"),
                                        N_ ("    PID     TID  THREAD") };

  return g_strdup_printf ("%8s %8s  %s", _ ("SELF %"), _ ("TOTAL %"), _ (things[query->view]));
}

char *
lu_top_line (const LuTopTable *table, const LuTopRow *row)
{
  g_autofree char *self = row->depth > 0
                              ? g_strdup ("")
                              : g_strdup_printf ("%.2f", percent (row->self, table->n_samples));

  return g_strdup_printf ("%8s %8.2f  %*s%s", self, percent (row->total, table->n_samples),
                          (int) (row->depth * 2), "", row->text);
}

char *
lu_top_caption (const LuTopTable *table, const LuTopQuery *query)
{
  static const char *const views[] = { N_ ("functions"), N_ ("processes"), N_ ("threads") };
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, _ ("%" PRIu64 " samples in %.1f s: %s by %s"), table->n_samples,
                          table->seconds, _ (views[query->view]),
                          query->by_total ? _ ("total") : _ ("self"));
  if (query->tid != 0)
    g_string_append_printf (text, _ (", thread %d"), query->tid);
  else if (query->pid != 0)
    g_string_append_printf (text, _ (", process %d"), query->pid);
  if (query->filter != NULL)
    g_string_append_printf (text, _ (", with \"%s\""), query->filter);
  if (table->n_lost > 0)
    g_string_append_printf (text, _ (", %" PRIu64 " lost"), table->n_lost);
  return g_string_free (text, FALSE);
}
