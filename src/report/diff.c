/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* diff.c - parses the options of `live-unwinder diff` and prints what they ask for; see report.h.
 */

#include "config.h"

#include "report.h"

#include "base/error.h"
#include "export/page.h"
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
  gboolean tree, json, full_names, no_tail_calls, no_pager, force;
  char *mode, *color, *output; /* of --debuginfod, --color and --output, owned */
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
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &self->output,
      N_ ("Write both as a page for a browser, x.html"), N_ ("FILE") },
    { "force", 'f', 0, G_OPTION_ARG_NONE, &self->force, N_ ("Overwrite an existing file"), NULL },
    { "full-names", 0, 0, G_OPTION_ARG_NONE, &self->full_names,
      N_ ("Show names with return types, parameters and all template arguments"), NULL },
    { "no-tail-calls", 0, 0, G_OPTION_ARG_NONE, &self->no_tail_calls,
      N_ ("Do not show functions that ended with a tail call"), NULL },
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
save_page (const Options *options, const LuProfile *a, const LuProfile *b, GError **error)
{
  int fd = lu_output_open (options->output, options->force, error);

  if (fd < 0)
    return FALSE;
  if (lu_page_save (b->model, a->model, fd, error))
    return TRUE;
  lu_output_discard (options->output);
  return FALSE;
}

static gboolean
compare (const Options *options, const LuProfile *a, const LuProfile *b, GError **error)
{
  g_autoptr (LuDiff) diff = lu_diff_new (a, b);

  if (options->output != NULL && !save_page (options, a, b, error))
    return FALSE;
  if (options->output != NULL)
    return options->fail_above < 0 || lu_diff_check (diff, options->fail_above, error);
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
  g_autofree char *mode = NULL, *color = NULL, *output = NULL;
  LuProfileLoad load;
  gboolean is_parsed = parse (&options, &argc, &argv, error);

  mode = options.mode;
  color = options.color;
  output = options.output;
  if (!is_parsed || !lu_color_choose (color, error)
      || !lu_fetcher_start_for_reader (mode, &debuginfod, error))
    return FALSE;
  if (!options.no_pager && output == NULL)
    lu_pager_start ();
  lu_report_give_up_rights (output,
                            lu_replay_is_perf_data (argv[1]) || lu_replay_is_perf_data (argv[2]));
  load = (LuProfileLoad){ (options.full_names ? LU_MODEL_FULL_NAMES : 0u)
                              | (options.no_tail_calls ? LU_MODEL_NO_TAIL_CALLS : 0u)
                              | (output != NULL ? LU_MODEL_SOME_TIMES : 0u),
                          debuginfod, kallsyms };
  a = lu_profile_load (argv[1], &load, error);
  b = a != NULL ? lu_profile_load (argv[2], &load, error) : NULL;
  if (b == NULL)
    return FALSE;
  lu_fetcher_print_summary (debuginfod);
  return compare (&options, a, b, error);
}
