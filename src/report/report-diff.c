/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-diff.c - compares two recordings; see report-print.h. It compares shares, because the
 * recordings need not be equally long. */

#include "base/printable.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  const char *name, *module;
  double self[2], total[2]; /* percent, in A and in B */
} Row;

static void
add_side (GHashTable *rows, const LuProfile *profile, guint side)
{
  double percent = profile->model->n_samples > 0 ? 100.0 / (double) profile->model->n_samples : 0;

  for (guint i = 0; i < profile->functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (profile->functions, i);
      g_autofree char *key =
          g_strconcat (function->source->name, "\n", function->source->module, NULL);
      Row *row = g_hash_table_lookup (rows, key);

      if (row == NULL)
        {
          row = g_new0 (Row, 1);
          row->name = function->source->name;
          row->module = function->source->module;
          g_hash_table_insert (rows, g_steal_pointer (&key), row);
        }
      row->self[side] += percent * (double) function->self;
      row->total[side] += percent * (double) function->total;
    }
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const Row *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;
  double dx = fabs (x->self[1] - x->self[0]), dy = fabs (y->self[1] - y->self[0]);

  if (dx != dy)
    return dx > dy ? -1 : 1;
  return strcmp (x->name, y->name);
}

void
lu_report_print_diff (const LuProfile *a, const LuProfile *b, guint limit)
{
  g_autoptr (GHashTable) rows = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GPtrArray) sorted = NULL;
  guint width = lu_terminal_width ();

  add_side (rows, a, 0);
  add_side (rows, b, 1);
  sorted = lu_report_values (rows);
  g_ptr_array_sort (sorted, compare_rows);
  printf (_ ("A: %" PRIu64 " samples, B: %" PRIu64 " samples\n\n"), a->model->n_samples,
          b->model->n_samples);
  printf ("%10s %10s %10s %10s  %s\n", _ ("change"), _ ("self A"), _ ("self B"), _ ("total +/-"),
          _ ("function"));
  for (guint i = 0; i < MIN (limit, sorted->len); i++)
    {
      const Row *row = g_ptr_array_index (sorted, i);
      g_autofree char *text = lu_report_with_module (row->name, row->module);
      g_autofree char *name = lu_printable (text, width > 60 ? width - 46 : 0);

      printf ("%+8.2f %% %8.2f %% %8.2f %% %+8.2f %%  %s\n", row->self[1] - row->self[0],
              row->self[0], row->self[1], row->total[1] - row->total[0], name);
    }
}
