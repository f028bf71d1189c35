/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report.c - parses the options of `live-unwinder report` and prints it; see report.h. */

#include "config.h"

#include "report.h"

#include "base/error.h"
#include "base/printable.h"
#include "session/fetcher.h"
#include "color.h"
#include "pager.h"
#include "replay.h"
#include "report-filter.h"
#include "report-print.h"
#include "rights.h"
#include "sandbox/sandbox.h"
#include "symbolize/disassembly.h"

#include <unistd.h>

#define MAX_UNNAMED 5

typedef struct
{
  LuReportFilter filter;
  char *function, *annotate, *debuginfod, *color; /* owned */
  int limit;
  double min_percent;
  gboolean tree, processes, threads, json, lines, inlines, full_names, folds, no_tail_calls,
      no_pager, as_code;
  LuReportCode code; /* what --annotate prints */
} Options;

static gboolean
parse (Options *self, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "limit", 'n', 0, G_OPTION_ARG_INT, &self->limit, N_ ("Lines of each table (default: 25)"),
      N_ ("N") },
    { "tree", 0, 0, G_OPTION_ARG_NONE, &self->tree, N_ ("Print the call tree instead of tables"),
      NULL },
    { "min", 0, 0, G_OPTION_ARG_DOUBLE, &self->min_percent,
      N_ ("Leave out parts of the tree below this percentage (default: 1)"), N_ ("PERCENT") },
    { "function", 0, 0, G_OPTION_ARG_STRING, &self->function,
      N_ ("Print the callers and callees of this function; a part of its name will do"),
      N_ ("TEXT") },
    { "annotate", 0, 0, G_OPTION_ARG_STRING, &self->annotate,
      N_ ("Print the source of this function with the shares of its lines"), N_ ("TEXT") },
    { "asm", 0, 0, G_OPTION_ARG_NONE, &self->as_code,
      N_ ("With --annotate: print instructions instead of lines"), NULL },
    { "processes", 0, 0, G_OPTION_ARG_NONE, &self->processes,
      N_ ("Print the samples of each program, of all its processes"), NULL },
    { "threads", 0, 0, G_OPTION_ARG_NONE, &self->threads,
      N_ ("Print the samples of each thread; with --tree, the names of threads as well"), NULL },
    { "lines", 0, 0, G_OPTION_ARG_NONE, &self->lines,
      N_ ("Split functions by source line, from debug information; with --function, show its "
          "hottest lines"),
      NULL },
    { "inlines", 0, 0, G_OPTION_ARG_NONE, &self->inlines,
      N_ ("Show inlined functions, from debug information"), NULL },
    { "full-names", 0, 0, G_OPTION_ARG_NONE, &self->full_names,
      N_ ("Show names with return types, parameters and all template arguments"), NULL },
    { "no-tail-calls", 0, 0, G_OPTION_ARG_NONE, &self->no_tail_calls,
      N_ ("Do not show functions that ended with a tail call"), NULL },
    { "fold-recursion", 0, 0, G_OPTION_ARG_NONE, &self->folds,
      N_ ("With --tree: show a function and its calls of itself as one"), NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &self->json, N_ ("Print all functions and threads as JSON"),
      NULL },
    { "no-pager", 0, 0, G_OPTION_ARG_NONE, &self->no_pager, LU_PAGER_HELP, NULL },
    { "color", 0, 0, G_OPTION_ARG_STRING, &self->color, LU_COLOR_HELP, LU_COLOR_CHOICE },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &self->debuginfod, LU_FETCHER_HELP,
      LU_FETCHER_CHOICE },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("FILE - where the time went"));

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  lu_report_filter_add_options (&self->filter, context);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (*argc == 2 && self->limit >= 1)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("Usage: live-unwinder report [OPTIONS] FILE; --help tells more"));
  return FALSE;
}

static void
options_clear (Options *self)
{
  lu_report_filter_clear (&self->filter);
  g_free (self->function);
  g_free (self->annotate);
  g_free (self->debuginfod);
  g_free (self->color);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

static void
add_lines (const Options *options, LuModel *model)
{
  LuModelLinesFlags flags =
      (options->lines ? LU_MODEL_LINES : 0u)
      | (options->inlines || options->annotate != NULL ? LU_MODEL_INLINES : 0u);

  if (flags == 0)
    return;
  lu_report_begin_lines ();
  lu_model_add_lines (model, flags);
  lu_report_end_lines ();
  if (options->lines)
    lu_model_split_lines (model);
}

/* A source may be any file, because a hostile program may name any: users read those that they may
 * read themselves. The capabilities of this program would let them read others. */
static gboolean
give_up_rights (const Options *options, const char *path, GError **error)
{
  if (options->annotate != NULL && getuid () != 0 && !lu_sandbox_drop_capabilities (0, error))
    return FALSE;
  lu_report_give_up_rights (NULL, lu_replay_is_perf_data (path));
  return TRUE;
}

/* Loads the library for instructions while it is allowed. */
static gboolean
choose_code (Options *options, GError **error)
{
  gboolean is_there = options->annotate != NULL && lu_disassembly_load ();

  options->code = options->as_code ? LU_REPORT_CODE
                  : is_there       ? LU_REPORT_CODE_IF_NEEDED
                                   : LU_REPORT_SOURCE;
  if (!options->as_code || is_there)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       options->annotate == NULL
                           ? _ ("--asm belongs to --annotate")
                           : _ ("--asm: libZydis, which knows instructions, is not here"));
  return FALSE;
}

static gboolean
check_redaction (const Options *options, const LuModel *model, GError **error)
{
  if (options->annotate == NULL || lu_model_metadata (model, LU_SYSCAP_KEY_REDACTED) == NULL)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("--annotate: the recording is redacted, so no sources are read for it"));
  return FALSE;
}

/* Returns NULL if nothing of the recording was asked for. */
static LuModel *
load (const Options *options, const char *path, GError **error)
{
  LuModelFlags flags =
      (lu_report_filter_needs_times (&options->filter) ? LU_MODEL_TIMES : 0u)
      | (options->full_names ? LU_MODEL_FULL_NAMES : 0u)
      | (options->no_tail_calls ? LU_MODEL_NO_TAIL_CALLS : 0u)
      | (options->threads ? LU_MODEL_THREADS : 0u)
      | (options->folds && options->function == NULL ? LU_MODEL_FOLD_RECURSION : 0u);
  g_autoptr (LuKallsymsFile) kallsyms = lu_kallsyms_file_open ();
  g_autoptr (LuDebuginfod) debuginfod = NULL;
  g_autoptr (LuModel) model = NULL;

  if (!lu_color_choose (options->color, error)
      || !lu_fetcher_start_for_reader (options->debuginfod, &debuginfod, error))
    return NULL;
  if (!options->no_pager)
    lu_pager_start ();
  if (!give_up_rights (options, path, error))
    return NULL;
  model = lu_replay_load (path, flags, kallsyms, error);
  if (model == NULL || !check_redaction (options, model, error))
    return NULL;
  model->debuginfod = debuginfod;
  lu_model_name (model, 0);
  lu_model_add_tail_calls (model);
  add_lines (options, model);
  model->debuginfod = NULL;
  lu_fetcher_print_summary (debuginfod);
  return lu_report_filter_apply (&options->filter, model, error) ? g_steal_pointer (&model) : NULL;
}

/* Returns the first one if all have its full name, or else NULL. Functions that share a short name
 * then get their full names as texts. */
static const LuModelFunction *
only_one (GPtrArray *functions)
{
  const LuModelFunction *first = ((LuReportFunction *) g_ptr_array_index (functions, 0))->source;
  gboolean is_full = TRUE, is_short = TRUE;

  for (guint i = 1; i < functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (functions, i);

      is_full &= g_str_equal (first->full_name, function->source->full_name);
      is_short &= g_str_equal (first->name, function->source->name);
    }
  for (guint i = 0; i < functions->len && is_short && !is_full; i++)
    lu_profile_show_full_name (g_ptr_array_index (functions, i));
  return is_full ? first : NULL;
}

/* Sets *function to the one that is meant, or to NULL if there are several, which are printed. */
static gboolean
find_function (const LuProfile *profile, const char *wanted, guint limit,
               const LuModelFunction **function, GError **error)
{
  g_autoptr (GPtrArray) found = lu_profile_find (profile, wanted);
  g_autofree char *text = lu_printable (wanted, 0), *title = NULL;

  if (found->len == 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("no function \"%s\" was hit"), text);
      return FALSE;
    }
  *function = only_one (found);
  if (*function != NULL)
    return TRUE;
  title = g_strdup_printf (_ ("Functions with \"%s\" in their names"), text);
  lu_report_print_functions (profile, found, title, limit);
  return TRUE;
}

static gboolean
print_function (const Options *options, const LuProfile *profile, const LuCallTree *tree,
                GError **error)
{
  const LuModelFunction *function;
  guint limit = (guint) options->limit;

  if (!find_function (profile, options->function, limit, &function, error))
    return FALSE;
  if (function == NULL)
    return TRUE;
  lu_report_print_neighbours (tree, function, limit);
  if (options->lines)
    lu_report_print_hot_lines (tree, function, limit);
  return TRUE;
}

static gboolean
annotate (const Options *options, const LuProfile *profile, GError **error)
{
  const LuModelFunction *function;

  if (!find_function (profile, options->annotate, (guint) options->limit, &function, error))
    return FALSE;
  if (function != NULL)
    lu_report_print_source (profile->model, function, options->code);
  return TRUE;
}

static gboolean
print_tree (const Options *options, const LuProfile *profile, GError **error)
{
  g_autoptr (LuCallTree) tree = lu_call_tree_new (profile->model, LU_CALL_TREE_ALL_EVENTS);

  if (options->tree)
    lu_report_print_tree (tree, options->min_percent);
  return (options->function == NULL || print_function (options, profile, tree, error))
         && (options->annotate == NULL || annotate (options, profile, error));
}

gboolean
lu_report_main (int argc, char **argv, GError **error)
{
  g_auto (Options) options = { .limit = 25, .min_percent = 1 };
  LuModel *model;
  g_autoptr (LuProfile) profile = NULL;

  if (!parse (&options, &argc, &argv, error) || !choose_code (&options, error))
    return FALSE;
  model = load (&options, argv[1], error);
  if (model == NULL)
    return FALSE;
  profile = lu_profile_new (model);
  if (options.json)
    {
      lu_report_print_json (profile);
      return TRUE;
    }
  lu_report_print_head (profile, argv[1]);
  if (model->n_samples == 0)
    return TRUE;
  lu_report_print_hints (model);
  if (options.processes)
    lu_report_print_programs (model, (guint) options.limit);
  if (options.threads)
    lu_report_print_threads (model, (guint) options.limit);
  if (options.tree || options.function != NULL || options.annotate != NULL)
    return print_tree (&options, profile, error);
  if (options.threads || options.processes)
    return TRUE;
  lu_report_print_tables (profile, (guint) options.limit);
  lu_report_print_unnamed (model, MIN ((guint) options.limit, MAX_UNNAMED));
  lu_report_print_missing (model);
  if (options.lines || options.inlines)
    lu_report_print_without_lines (model, MIN ((guint) options.limit, MAX_UNNAMED));
  return TRUE;
}
