/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-diff.c - compares two recordings; see report-diff.h. It compares shares, because the
 * recordings need not be equally long. */

#include "config.h"

#include "report-diff.h"

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "color.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns before the name of a function. */
#define NAME_COLUMN 47

typedef struct
{
  const char *name, *full_name, *module;
  char *modules;            /* "old → new", owned; NULL: both have it in `module` */
  double self[2], total[2]; /* percent, in A and in B */
  gboolean has_name;
} Row;

struct _LuDiff
{
  GHashTable *rows;  /* key -> Row, owned */
  GPtrArray *sorted; /* of them, borrowed: what changed most first */
  guint64 n_samples[2];
};

static void
row_free (gpointer pointer)
{
  g_free (((Row *) pointer)->modules);
  g_free (pointer);
}

static void
add_side (GHashTable *rows, const LuProfile *profile, guint side)
{
  double percent = profile->model->n_samples > 0 ? 100.0 / (double) profile->model->n_samples : 0;

  for (guint i = 0; i < profile->functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (profile->functions, i);
      g_autofree char *key =
          g_strconcat (function->source->full_name, "\n", function->source->module, NULL);
      Row *row = g_hash_table_lookup (rows, key);

      if (row == NULL)
        {
          row = g_new0 (Row, 1);
          row->name = function->source->name;
          row->full_name = function->source->full_name;
          row->module = function->source->module;
          row->has_name = function->source->has_name;
          g_hash_table_insert (rows, g_steal_pointer (&key), row);
        }
      row->self[side] += percent * (double) function->self;
      row->total[side] += percent * (double) function->total;
    }
}

/* Returns the key of a function and its file without the numbers in the file's name, owned by the
 * caller. */
static char *
key_without_version (const Row *row)
{
  GString *key = g_string_new (row->full_name);

  g_string_append_c (key, '\n');
  for (const char *at = row->module; *at != 0; at++)
    if (strchr ("0123456789.-_", *at) == NULL)
      g_string_append_c (key, *at);
  return g_string_free (key, FALSE);
}

/* Returns the rows of only one side by that key, owned by the caller: NULL if there are several. */
static GHashTable *
find_one_sided (GHashTable *rows, guint side)
{
  GHashTable *found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, rows);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Row *row = value;
      char *key = row->has_name && row->total[side] > 0 && row->total[!side] <= 0
                      ? key_without_version (row)
                      : NULL;

      if (key != NULL)
        g_hash_table_insert (found, key, g_hash_table_contains (found, key) ? NULL : value);
    }
  return found;
}

/* Joins the rows of a function whose file has another version in its name in B. */
static void
join_versions (GHashTable *rows)
{
  g_autoptr (GHashTable) only_a = find_one_sided (rows, 0);
  g_autoptr (GHashTable) only_b = find_one_sided (rows, 1);
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, only_a);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      Row *row = value, *other = g_hash_table_lookup (only_b, key);

      if (row == NULL || other == NULL)
        continue;
      row->self[1] = other->self[1];
      row->total[1] = other->total[1];
      row->modules = g_strdup_printf ("%s → %s", row->module, other->module);
      row->module = row->modules;
      other->total[1] = -1; /* has moved */
    }
}

static gboolean
has_moved (gpointer key, gpointer row, gpointer data)
{
  return ((const Row *) row)->total[1] < 0;
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

LuDiff *
lu_diff_new (const LuProfile *a, const LuProfile *b)
{
  LuDiff *self = g_new0 (LuDiff, 1);

  self->rows = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, row_free);
  self->n_samples[0] = a->model->n_samples;
  self->n_samples[1] = b->model->n_samples;
  add_side (self->rows, a, 0);
  add_side (self->rows, b, 1);
  join_versions (self->rows);
  g_hash_table_foreach_remove (self->rows, has_moved, NULL);
  self->sorted = lu_report_values (self->rows);
  g_ptr_array_sort (self->sorted, compare_rows);
  return self;
}

void
lu_diff_free (LuDiff *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->sorted);
  g_hash_table_unref (self->rows);
  g_free (self);
}

void
lu_diff_print (const LuDiff *self, guint limit)
{
  guint width = lu_terminal_width ();

  printf (_ ("A: %" PRIu64 " samples, B: %" PRIu64 " samples\n\n"), self->n_samples[0],
          self->n_samples[1]);
  printf ("%11s %10s %10s %11s  %s\n", _ ("change"), _ ("self A"), _ ("self B"), _ ("total +/-"),
          _ ("function"));
  for (guint i = 0; i < MIN (limit, self->sorted->len); i++)
    {
      const Row *row = g_ptr_array_index (self->sorted, i);
      g_autofree char *text = lu_report_with_module (row->name, row->module);
      g_autofree char *name =
          lu_printable_name (text, strlen (row->name), width > 0 ? width - NAME_COLUMN : 0);

      lu_color_print_change (row->self[1] - row->self[0]);
      printf (" %8.2f %% %8.2f %% ", row->self[0], row->self[1]);
      lu_color_print_change (row->total[1] - row->total[0]);
      printf ("  %s\n", name);
    }
}

void
lu_diff_print_json (const LuDiff *self)
{
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;

  lu_json_add_int (json, "samples_a", (gint64) self->n_samples[0]);
  lu_json_add_int (json, "samples_b", (gint64) self->n_samples[1]);
  lu_json_begin_array (json, "functions");
  for (guint i = 0; i < self->sorted->len; i++)
    {
      const Row *row = g_ptr_array_index (self->sorted, i);

      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "name", row->name);
      if (!g_str_equal (row->full_name, row->name))
        lu_json_add_string (json, "full_name", row->full_name);
      lu_json_add_string (json, "module", row->module);
      lu_json_add_double (json, "self_a", row->self[0]);
      lu_json_add_double (json, "self_b", row->self[1]);
      lu_json_add_double (json, "total_a", row->total[0]);
      lu_json_add_double (json, "total_b", row->total[1]);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
  text = lu_json_end (json);
  printf ("%s\n", text);
}

gboolean
lu_diff_check (const LuDiff *self, double points, GError **error)
{
  const Row *worst = NULL;
  double most = points;
  g_autofree char *text = NULL;
  g_autofree char *name = NULL;

  for (guint i = 0; i < self->sorted->len; i++)
    {
      const Row *row = g_ptr_array_index (self->sorted, i);
      double grown = MAX (row->self[1] - row->self[0], row->total[1] - row->total[0]);

      if (grown > most)
        worst = row;
      most = MAX (most, grown);
    }
  if (worst == NULL)
    return TRUE;
  text = lu_report_with_module (worst->name, worst->module);
  name = lu_printable (text, 0);
  g_set_error (error, LU_ERROR, LU_ERROR_CHANGED, _ ("%s grew by %.2f pp, more than %.2f pp"), name,
               most, points);
  return FALSE;
}
