/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-capture.c - the tables of `live-unwinder report`; see report-print.h.
 *
 * Lines are cut to the width of the terminal, but not if a pipe reads them. Names come from files,
 * so bytes that a terminal would take for a command are replaced. */

#include "base/printable.h"
#include "color.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_MODULE 28
/* Columns before the name of a function. */
#define NUMBERS_WIDTH 37
/* Columns before the name of an end state. */
#define NAME_COLUMN 19

typedef struct
{
  guint width; /* of a line; 0: any */
  guint name_width, module_width;
} Layout;

static int
compare_total (gconstpointer a, gconstpointer b)
{
  const LuReportFunction *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  if (x->total != y->total)
    return x->total > y->total ? -1 : 1;
  return lu_profile_compare_self (a, b);
}

static int
compare_states (gconstpointer a, gconstpointer b)
{
  const LuReportState *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  return x->n > y->n ? -1 : x->n < y->n;
}

static Layout
choose_layout (const GPtrArray *functions)
{
  Layout layout = { .width = lu_terminal_width () };
  guint longest = 0;

  if (layout.width == 0)
    return (Layout){ 0, 48, 0 };
  for (guint i = 0; i < functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (functions, i);

      longest = MAX (longest, (guint) strlen (function->source->module));
    }
  layout.module_width = MIN (MIN (longest, MAX_MODULE), layout.width / 4);
  layout.name_width = layout.width - NUMBERS_WIDTH - layout.module_width - 2;
  return layout;
}

static void
print_function (const LuProfile *profile, const Layout *layout, const LuReportFunction *function)
{
  g_autofree char *name = lu_printable_name (function->text, function->name_length,
                                             layout->width > 0 ? layout->name_width : 0);
  g_autofree char *module = lu_printable (function->source->module, layout->module_width);
  glong length = g_utf8_strlen (name, -1);
  int padding = length < (glong) layout->name_width ? (int) (layout->name_width - length) : 0;

  lu_report_print_share (function->self, profile->model->n_samples);
  putchar (' ');
  lu_report_print_share (function->total, profile->model->n_samples);
  fputs ("  ", stdout);
  lu_color_print (function->source->kind == LU_CODE_KERNEL ? LU_COLOR_DIM : LU_COLOR_NONE,
                  "%s%*s  %s", name, padding, "", module);
  putchar ('\n');
}

static void
print_functions (const LuProfile *profile, GPtrArray *functions, const char *title, guint limit,
                 GCompareFunc compare)
{
  Layout layout = choose_layout (functions);

  g_ptr_array_sort (functions, compare);
  printf ("\n%s\n%17s %17s  %s\n", title, _ ("self"), _ ("total"), _ ("function"));
  for (guint i = 0; i < MIN (limit, functions->len); i++)
    {
      const LuReportFunction *function = g_ptr_array_index (functions, i);

      if (function->total == 0 || (compare == lu_profile_compare_self && function->self == 0))
        break;
      print_function (profile, &layout, function);
    }
}

void
lu_report_print_functions (const LuProfile *profile, GPtrArray *functions, const char *title,
                           guint limit)
{
  print_functions (profile, functions, title, limit, compare_total);
}

static void
print_states (LuProfile *profile)
{
  gboolean any = FALSE;

  g_ptr_array_sort (profile->states, compare_states);
  for (guint i = 0; i < profile->states->len; i++)
    {
      const LuReportState *state = g_ptr_array_index (profile->states, i);
      g_autofree char *text = g_strconcat (
          state->name, state->excluded ? _ (" (not counted in complete %)") : "", NULL);
      guint width = lu_terminal_width ();
      g_autofree char *name = lu_printable (text, width > 0 ? width - NAME_COLUMN : 0);

      if (state->n == 0)
        continue;
      if (!any)
        printf ("\n%s\n", _ ("Stacks that are not complete, by how they ended"));
      any = TRUE;
      printf ("%8" G_GUINT64_FORMAT " %6.2f %%  %s\n", state->n,
              lu_report_percent (state->n, profile->model->n_samples), name);
    }
}

void
lu_report_print_head (const LuProfile *profile, const char *path)
{
  g_autofree char *name = lu_printable (path, 0);

  printf (_ ("%s: %" PRIu64 " samples in %.1f s"), name, profile->model->n_samples,
          (double) (profile->model->last - profile->model->begin) / 1e9);
  if (profile->model->n_user > 0)
    printf (_ (", %.2f %% of %" PRIu64 " user stacks complete"),
            lu_report_percent (profile->model->n_complete, profile->model->n_user),
            profile->model->n_user);
  if (profile->n_lost >= 0)
    printf (_ (", %" PRId64 " lost"), profile->n_lost);
  printf ("\n");
  if (!profile->model->is_finished)
    printf (
        "%s\n",
        _ ("The recording did not end properly; the report covers what was written until then."));
}

void
lu_report_print_tables (LuProfile *profile, guint limit)
{
  print_functions (profile, profile->functions, _ ("Functions by self"), limit,
                   lu_profile_compare_self);
  print_functions (profile, profile->functions, _ ("Functions by total"), limit, compare_total);
  print_states (profile);
}
