/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* main.c - chooses between recording and the other commands. */

#include "config.h"

#include "base/caller.h"
#include "base/error.h"
#include "session/command.h"
#include "commands.h"
#include "option-table.h"
#include "report/report.h"
#include "session/session.h"

#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

/* Bytes that each thread has at least; glibc gives as much where there is no limit. */
#define THREAD_STACK (2u << 20)
/* Words longer than this are no misspelt commands. */
#define MAX_COMMAND 9
/* Exit code of diff --fail-above. */
#define EXIT_CHANGED 1

/* error: NULL if the user has been told. Returns the exit code. */
static int
failed (const GError *error)
{
  if (error != NULL)
    fprintf (stderr, "live-unwinder: %s\n", error->message);
  return g_error_matches (error, LU_ERROR, LU_ERROR_CHANGED) ? EXIT_CHANGED : LU_EXIT_FAILED;
}

typedef struct
{
  gboolean stats, build;
  int prune; /* MiB; negative: no */
} TablesOptions;

/* Runs the form that the options and the number of files select. */
static gboolean
choose_tables (const TablesOptions *options, char **files, GError **error)
{
  guint n = g_strv_length (files);

  if (options->stats + options->build + (options->prune >= 0) > 1
      || (options->prune >= 0 ? n != 0
          : options->build    ? n == 0
                              : n != 1))
    {
      fprintf (stderr, _ ("Usage: live-unwinder tables [--stats] FILE\n"
                          "       live-unwinder tables --build FILE…\n"
                          "       live-unwinder tables --prune MIB\n"));
      return FALSE;
    }
  if (options->prune >= 0)
    return lu_store_tables_prune ((guint64) options->prune << 20, error);
  return options->build ? lu_store_tables_build (files, error)
                        : lu_dump_tables (files[0], options->stats, error);
}

static gboolean
run_tables (int argc, char **argv, GError **error)
{
  TablesOptions options = { .prune = -1 };
  const GOptionEntry entries[] = {
    { "stats", 0, 0, G_OPTION_ARG_NONE, &options.stats,
      N_ ("Print counts of rows, rules and bytes instead of the rows"), NULL },
    { "build", 0, 0, G_OPTION_ARG_NONE, &options.build,
      N_ ("Store the tables of these files on disk for later recordings"), NULL },
    { "prune", 0, 0, G_OPTION_ARG_INT, &options.prune,
      N_ ("Remove the least recently used tables on disk until at most this much is left"),
      N_ ("MIB") },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("FILE - the unwind table that an ELF file compiles to"));

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  return g_option_context_parse (context, &argc, &argv, error)
         && choose_tables (&options, argv + 1, error);
}

/* --help is its only option. */
static gboolean
run_doctor (int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("- what can be recorded here, and what to do about the rest"));

  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  if (argc == 1)
    return lu_doctor_run ();
  fprintf (stderr, "%s\n", _ ("Usage: live-unwinder doctor"));
  return FALSE;
}

/* Recordings have more than one exit code. */
static int
run_record (int argc, char **argv)
{
  LuOptions options;
  g_autoptr (GError) error = NULL;
  int code = 0;

  if (!lu_options_parse (&options, argc, argv, &error))
    code = failed (error);
  else if (options.show_version)
    printf ("live-unwinder %s\n", LU_VERSION);
  else
    code = lu_session_run (&options);
  lu_options_clear (&options);
  return code;
}

/* So has top. */
static int
run_top (int argc, char **argv)
{
  LuOptions options;
  LuTopOptions top;
  g_autoptr (GError) error = NULL;
  int code = 0;

  if (lu_options_parse_top (&options, &top, argc, argv, &error))
    code = lu_top_run (&options, &top);
  else
    code = failed (error);
  lu_options_clear (&options);
  return code;
}

/* Every command but recording, which has no name, and top. --help describes them in option-table.c.
 */
static const struct
{
  const char *name;
  /* argv[0] is the name. FALSE: it failed, and has said why if no error is set. */
  gboolean (*run) (int argc, char **argv, GError **error);
} commands[] = {
  { "convert", lu_convert_main }, { "debuginfo", lu_debuginfo_main }, { "diff", lu_diff_main },
  { "doctor", run_doctor },       { "report", lu_report_main },       { "stacks", lu_stacks_main },
  { "tables", run_tables },
};

/* Returns how many letters must be added, removed, replaced or swapped with the next one. The words
 * are short, so that trying everything takes no time. */
static guint
distance (const char *a, const char *b)
{
  guint best;

  if (*a == 0 || *b == 0)
    return (guint) (strlen (a) + strlen (b));
  if (*a == *b)
    return distance (a + 1, b + 1);
  best = MIN (distance (a + 1, b), distance (a, b + 1));
  best = MIN (best, distance (a + 1, b + 1));
  if (a[0] == b[1] && a[1] == b[0])
    best = MIN (best, distance (a + 2, b + 2));
  return best + 1;
}

/* Returns whether the word is no program but nearly one of our commands; then tells the user. */
static gboolean
is_misspelt (const char *word)
{
  g_autofree char *program = NULL;
  gsize length = strlen (word);

  if (word[0] == '-' || length < 3 || length > MAX_COMMAND || strchr (word, '/') != NULL)
    return FALSE;
  program = g_find_program_in_path (word);
  if (program != NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (distance (word, commands[i].name) <= 2)
      {
        fprintf (stderr,
                 _ ("live-unwinder: there is no command or program \"%s\"; did you mean %s?\n"),
                 word, commands[i].name);
        return TRUE;
      }
  return FALSE;
}

/* Words that other tools use; a program of such a name is recorded with "--". Returns how many
 * words of ours precede the options of a recording, or -1 if it is over. */
static int
take_habits (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "record") == 0)
    return 1;
  if (argc != 2 || strcmp (argv[1], "version") != 0)
    return 0;
  printf ("live-unwinder %s\n", LU_VERSION);
  return -1;
}

static int
run_command (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  char *help[] = { argv[0], argc > 2 ? argv[2] : (char *) "--help", (char *) "--help", NULL };
  int n_words = take_habits (argc, argv);

  if (n_words < 0)
    return 0;
  argv[n_words] = argv[0];
  argc -= n_words;
  argv += n_words;
  if (n_words == 0 && argc > 1 && argc < 4 && strcmp (argv[1], "help") == 0)
    {
      argv = help;
      argc = 3;
    }
  if (n_words == 0 && argc > 1 && strcmp (argv[1], "top") == 0)
    {
      g_set_prgname ("live-unwinder top");
      return run_top (argc - 1, argv + 1);
    }
  for (guint i = 0; n_words == 0 && argc > 1 && i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      {
        g_autofree char *name = g_strdup_printf ("live-unwinder %s", argv[1]);

        g_set_prgname (name); /* --help prints it */
        return commands[i].run (argc - 1, argv + 1, &error) ? 0 : failed (error);
      }
  if (n_words == 0 && argc > 1 && is_misspelt (argv[1]))
    return LU_EXIT_NOT_FOUND;
  return run_record (argc, argv);
}

/* A user's limit (ulimit -s) may leave threads less stack than libraries need. */
static void
enlarge_stacks (void)
{
  pthread_attr_t attributes;
  size_t size;

  if (pthread_getattr_default_np (&attributes) != 0)
    return;
  if (pthread_attr_getstacksize (&attributes, &size) == 0 && size < THREAD_STACK
      && pthread_attr_setstacksize (&attributes, THREAD_STACK) == 0)
    pthread_setattr_default_np (&attributes);
  pthread_attr_destroy (&attributes);
}

int
main (int argc, char **argv)
{
  const char *nothing = "";

  lu_caller_note ();
  /* Two threads hardly ever allocate at once, and the drain never does. A heap for each thread
   * would cost each start half a millisecond. */
#ifdef __GLIBC__
  mallopt (M_ARENA_MAX, 1);
#endif
  enlarge_stacks ();
  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, LU_LOCALE_DIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  /* The catalogue is read now; later, files may be out of reach (sandbox.h). */
  gettext (nothing);
  return run_command (argc, argv);
}
