/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* main.c - chooses between recording and the other commands. */

#include "config.h"

#include "base/error.h"
#include "command.h"
#include "convert.h"
#include "doctor.h"
#include "dump-tables.h"
#include "fetcher.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "store-tables.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int
print_error (GError *error)
{
  fprintf (stderr, "live-unwinder: %s\n", error->message);
  g_error_free (error);
  return LU_EXIT_FAILED;
}

static int run_record (int argc, char **argv);

/* A file of perf is unwound, as --input does. */
static int
replay_into (const LuConversion *conversion, const char *debuginfod)
{
  g_autofree char *mode = g_strdup_printf ("--debuginfod=%s", debuginfod);
  char *arguments[] = { (char *) "live-unwinder",
                        (char *) "--input",
                        (char *) conversion->input,
                        (char *) "--output",
                        (char *) conversion->output,
                        (char *) "--stats=none",
                        mode,
                        (char *) (conversion->force ? "--force" : "--quiet"),
                        (char *) (conversion->lines & LU_MODEL_LINES ? "--lines" : "--quiet"),
                        (char *) (conversion->lines & LU_MODEL_INLINES ? "--inlines" : "--quiet"),
                        NULL };

  return run_record (G_N_ELEMENTS (arguments) - 1, arguments);
}

static gboolean
convert_capture (LuConversion *conversion, const char *mode, GError **error)
{
  g_autoptr (LuDebuginfod) debuginfod = NULL;

  if (!lu_fetcher_start_for_reader (mode, &debuginfod, error))
    return FALSE;
  conversion->debuginfod = debuginfod;
  if (!lu_convert_run (conversion, error))
    return FALSE;
  lu_fetcher_print_summary (debuginfod);
  return TRUE;
}

static int
run_convert (int argc, char **argv)
{
  g_autofree char *format = NULL;
  g_autofree char *mode = NULL;
  gboolean force = FALSE, lines = FALSE, inlines = FALSE;
  const GOptionEntry entries[] = {
    { "format", 0, 0, G_OPTION_ARG_STRING, &format,
      N_ ("folded, html, speedscope, firefox, perf or pprof, if the name of OUT does not tell"),
      N_ ("NAME") },
    { "lines", 0, 0, G_OPTION_ARG_NONE, &lines, N_ ("With source lines, by debug information"),
      NULL },
    { "inlines", 0, 0, G_OPTION_ARG_NONE, &inlines,
      N_ ("With inlined functions as such, by debug information"), NULL },
    { "force", 'f', 0, G_OPTION_ARG_NONE, &force, N_ ("Overwrite an existing file"), NULL },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &mode, LU_FETCHER_HELP, LU_FETCHER_CHOICE },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("IN OUT - a recording in another format"));
  LuConversion conversion;
  GError *error = NULL;

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return print_error (error);
  if (argc != 3)
    {
      fprintf (stderr, _ ("Usage: live-unwinder convert [--format NAME] [--force] IN OUT\n"));
      return LU_EXIT_FAILED;
    }
  conversion = (LuConversion){
    .input = argv[1],
    .output = argv[2],
    .format = format,
    .force = force,
    .lines = (lines ? LU_MODEL_LINES : 0u) | (inlines ? LU_MODEL_INLINES : 0u),
  };
  if (format == NULL && lu_convert_is_perf_data (argv[1]))
    return replay_into (&conversion, mode != NULL ? mode : "auto");
  return convert_capture (&conversion, mode, &error) ? 0 : print_error (error);
}

typedef struct
{
  gboolean stats, build;
  int prune; /* MiB; negative: no */
} TablesOptions;

/* Which of the forms it is, by the number of files. */
static int
choose_tables (const TablesOptions *options, char **files)
{
  guint n = g_strv_length (files);
  GError *error = NULL;
  gboolean ok;

  if (options->stats + options->build + (options->prune >= 0) > 1
      || (options->prune >= 0 ? n != 0
          : options->build    ? n == 0
                              : n != 1))
    {
      fprintf (stderr, _ ("Usage: live-unwinder tables [--stats] FILE\n"
                          "       live-unwinder tables --build FILE…\n"
                          "       live-unwinder tables --prune MIB\n"));
      return LU_EXIT_FAILED;
    }
  if (options->prune >= 0)
    ok = lu_store_tables_prune ((guint64) options->prune << 20, &error);
  else if (options->build)
    ok = lu_store_tables_build (files, &error);
  else
    ok = lu_dump_tables (files[0], options->stats, &error);
  return ok ? 0 : print_error (error);
}

static int
run_tables (int argc, char **argv)
{
  TablesOptions options = { .prune = -1 };
  const GOptionEntry entries[] = {
    { "stats", 0, 0, G_OPTION_ARG_NONE, &options.stats,
      N_ ("Print counts of rows, rules and bytes instead of the rows"), NULL },
    { "build", 0, 0, G_OPTION_ARG_NONE, &options.build,
      N_ ("Put the tables of these files on disk, for recordings to come"), NULL },
    { "prune", 0, 0, G_OPTION_ARG_INT, &options.prune,
      N_ ("Remove the tables on disk that were not used for longest, until so much is left"),
      N_ ("MIB") },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("FILE - the unwind table that an ELF file compiles to"));
  GError *error = NULL;

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return print_error (error);
  return choose_tables (&options, argv + 1);
}

static int
run_record (int argc, char **argv)
{
  LuOptions options;
  GError *error = NULL;
  int code = 0;

  if (!lu_options_parse (&options, argc, argv, &error))
    code = print_error (error);
  else if (options.show_version)
    printf ("live-unwinder %s\n", LU_VERSION);
  else
    code = lu_session_run (&options);
  lu_options_clear (&options);
  return code;
}

int
main (int argc, char **argv)
{
  GError *error = NULL;

  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, LU_LOCALE_DIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);

  if (argc > 1 && strcmp (argv[1], "doctor") == 0)
    return lu_doctor_run ();
  if (argc > 1 && strcmp (argv[1], "report") == 0)
    return lu_report_main (argc - 1, argv + 1, &error) ? 0 : print_error (error);
  if (argc > 1 && strcmp (argv[1], "diff") == 0)
    return lu_diff_main (argc - 1, argv + 1, &error) ? 0 : print_error (error);
  if (argc > 1 && strcmp (argv[1], "convert") == 0)
    return run_convert (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "tables") == 0)
    return run_tables (argc - 1, argv + 1);
  return run_record (argc, argv);
}
