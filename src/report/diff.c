/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* diff.c - parses the options of `live-unwinder diff` and prints what they ask for; see report.h.
 */

#include "config.h"

#include "report.h"

#include "base/error.h"
#include "session/fetcher.h"
#include "color.h"
#include "pager.h"
#include "replay.h"
#include "report-diff.h"
#include "rights.h"

typedef struct
{
  int limit;
  double min_points, fail_above; /* fail_above: negative: never */
  gboolean tree, json, full_names, no_pager;
  char *mode, *color; /* of --debuginfod and --color, owned */
} Options;

static gboolean
parse (Options *self, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "limit", 'n', 0, G_OPTION_ARG_INT, &self->limit, N_ ("Lines of the table (default: 25)"),
      N_ ("N") },
    { "tree", 0, 0, G_OPTION_ARG_NONE, &self->tree, N_ ("Print the call tree instead of the table"),
      NULL },
    { "min", 0, 0, G_OPTION_ARG_DOUBLE, &self->min_points,
      N_ ("Leave out parts of the tree that changed by fewer points (default: 0.5)"), N_ ("PP") },
    { "json", 0, 0, G_OPTION_ARG_NONE, &self->json, N_ ("Print all functions as JSON"), NULL },
    { "fail-above", 0, 0, G_OPTION_ARG_DOUBLE, &self->fail_above,
      N_ ("Exit with 1 if the share of a function grew by more than this many points"), N_ ("PP") },
    { "full-names", 0, 0, G_OPTION_ARG_NONE, &self->full_names,
      N_ ("Show names with return types, parameters and all template arguments"), NULL },
    { "no-pager", 0, 0, G_OPTION_ARG_NONE, &self->no_pager, LU_PAGER_HELP, NULL },
    { "color", 0, 0, G_OPTION_ARG_STRING, &self->color, LU_COLOR_HELP, LU_COLOR_CHOICE },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &self->mode, LU_FETCHER_HELP, LU_FETCHER_CHOICE },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("A B - what changed from A to B"));

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (*argc == 3 && self->limit >= 1)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("Usage: live-unwinder diff [OPTIONS] A B; --help tells more"));
  return FALSE;
}

static gboolean
compare (const Options *options, const LuProfile *a, const LuProfile *b, GError **error)
{
  g_autoptr (LuDiff) diff = lu_diff_new (a, b);

  if (options->json)
    lu_diff_print_json (diff);
  else if (options->tree)
    lu_diff_print_tree (a, b, options->min_points);
  else
    lu_diff_print (diff, (guint) options->limit);
  return options->fail_above < 0 || lu_diff_check (diff, options->fail_above, error);
}

gboolean
lu_diff_main (int argc, char **argv, GError **error)
{
  Options options = { .limit = 25, .min_points = 0.5, .fail_above = -1 };
  g_autoptr (LuKallsymsFile) kallsyms = lu_kallsyms_file_open ();
  g_autoptr (LuDebuginfod) debuginfod = NULL;
  g_autoptr (LuProfile) a = NULL;
  g_autoptr (LuProfile) b = NULL;
  g_autofree char *mode = NULL, *color = NULL;
  LuProfileLoad load;
  gboolean is_parsed = parse (&options, &argc, &argv, error);

  mode = options.mode;
  color = options.color;
  if (!is_parsed || !lu_color_choose (color, error)
      || !lu_fetcher_start_for_reader (mode, &debuginfod, error))
    return FALSE;
  if (!options.no_pager)
    lu_pager_start ();
  lu_report_give_up_rights (NULL,
                            lu_replay_is_perf_data (argv[1]) || lu_replay_is_perf_data (argv[2]));
  load = (LuProfileLoad){ options.full_names ? LU_MODEL_FULL_NAMES : 0, debuginfod, kallsyms };
  a = lu_profile_load (argv[1], &load, error);
  b = a != NULL ? lu_profile_load (argv[2], &load, error) : NULL;
  if (b == NULL)
    return FALSE;
  lu_fetcher_print_summary (debuginfod);
  return compare (&options, a, b, error);
}
