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
#include <malloc.h>
#include <stdio.h>
#include <string.h>

static int
print_error (GError *error)
{
  fprintf (stderr, "live-unwinder: %s\n", error->message);
  g_error_free (error);
  return LU_EXIT_FAILED;
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

/* It takes no options but --help. */
static int
run_doctor (int argc, char **argv)
{
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("- what can be recorded here, and what to do about the rest"));
  GError *error = NULL;

  if (!g_option_context_parse (context, &argc, &argv, &error))
    return print_error (error);
  if (argc > 1)
    {
      fprintf (stderr, "%s\n", _ ("Usage: live-unwinder doctor"));
      return LU_EXIT_FAILED;
    }
  return lu_doctor_run ();
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

static gboolean
is_command (const char *name)
{
  static const char *const commands[] = { "convert", "diff", "doctor", "report", "tables", NULL };

  return g_strv_contains (commands, name);
}

/* argv[0] is the command. */
static int
run_command (int argc, char **argv)
{
  g_autofree char *name = g_strdup_printf ("live-unwinder %s", argv[0]);
  GError *error = NULL;

  /* What --help calls the program. */
  g_set_prgname (name);
  if (strcmp (argv[0], "doctor") == 0)
    return run_doctor (argc, argv);
  if (strcmp (argv[0], "tables") == 0)
    return run_tables (argc, argv);
  if (strcmp (argv[0], "report") == 0)
    return lu_report_main (argc, argv, &error) ? 0 : print_error (error);
  if (strcmp (argv[0], "diff") == 0)
    return lu_diff_main (argc, argv, &error) ? 0 : print_error (error);
  return lu_convert_main (argc, argv, &error) ? 0 : print_error (error);
}

int
main (int argc, char **argv)
{
  const char *nothing = "";

  /* Two threads hardly ever allocate at once, and the drain never does. A heap for each thread
   * would cost each start half a millisecond. */
#ifdef __GLIBC__
  mallopt (M_ARENA_MAX, 1);
#endif
  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, LU_LOCALE_DIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  /* The catalogue is read now; later, files may be out of reach (sandbox.h). */
  gettext (nothing);

  if (argc > 1 && is_command (argv[1]))
    return run_command (argc - 1, argv + 1);
  return run_record (argc, argv);
}
