/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* options.c - one table of options; see options.h. */

#include "config.h"

#include "options.h"

#include "base/error.h"
#include "input/perf-event.h"
#include "module/tables.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_OUTPUT    "capture.syscap"
#define DEFAULT_FREQUENCY 999
#define MAX_TABLE_MEMORY  65536

/* Values as the user wrote them. */
typedef struct
{
  char *pids, *tids, *stack_size, *engine, *stats;
  char **command;
  double fail_on_loss;
  int frequency, table_memory;
} Raw;

static gboolean
fail (GError **error, const char *format, const char *value)
{
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, format, value);
  return FALSE;
}

static gboolean
parse_ids (const char *text, const char *option, GArray **ids, GError **error)
{
  g_auto (GStrv) parts = NULL;

  if (text == NULL)
    return TRUE;
  *ids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  parts = g_strsplit (text[0] != 0 ? text : ",", ",", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    {
      guint64 value;
      pid_t id;

      if (!g_ascii_string_to_unsigned (parts[i], 10, 1, G_MAXINT32, &value, NULL))
        {
          g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("%s: \"%s\" is not a process or thread id"), option, parts[i]);
          return FALSE;
        }
      id = (pid_t) value;
      g_array_append_val (*ids, id);
    }
  return TRUE;
}

static gboolean
parse_stack_size (const char *text, guint32 *size, GError **error)
{
  char *end;
  guint64 value;

  *size = 0;
  if (text == NULL || strcmp (text, "auto") == 0)
    return TRUE;
  value = g_ascii_strtoull (text, &end, 10);
  if (end != text && (*end == 'k' || *end == 'K'))
    {
      value *= 1024;
      end++;
    }
  if (end == text || *end != 0 || value % 8 != 0 || value < LU_STACK_SIZE_MIN
      || value > LU_STACK_SIZE_MAX)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("--stack-size: \"%s\" is not what the kernel takes: a multiple of 8 from %d "
                      "to %d bytes, or \"auto\""),
                   text, LU_STACK_SIZE_MIN, LU_STACK_SIZE_MAX);
      return FALSE;
    }
  *size = (guint32) value;
  return TRUE;
}

static gboolean
find_engine (const char *name, const LuUnwinderOps **engine, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; lu_unwinders[i] != NULL; i++)
    {
      if (name == NULL || strcmp (name, lu_unwinders[i]->name) == 0)
        {
          *engine = lu_unwinders[i];
          return TRUE;
        }
      g_string_append_printf (known, " %s", lu_unwinders[i]->name);
    }
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("--engine: there is no \"%s\"; there is:%s"),
               name, known->str);
  return FALSE;
}

static gboolean
parse_stats (const char *name, LuStatsFormat *format, GError **error)
{
  static const char *const names[] = { "text", "json", "none" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (name == NULL || strcmp (name, names[i]) == 0)
      {
        *format = (LuStatsFormat) i;
        return TRUE;
      }
  return fail (error, _ ("--stats: \"%s\" is none of text, json, none"), name);
}

static gboolean
check_frequency (int frequency, GError **error)
{
  guint64 limit = lu_perf_max_sample_rate ();
  g_autofree char *value = g_strdup_printf ("%d", frequency);

  if (frequency < 1)
    return fail (error, _ ("--frequency: %s is not a rate; give samples per second"), value);
  if (limit == 0 || (guint64) frequency <= limit)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("--frequency: this kernel samples at %" PRIu64 " Hz at most "
                  "(kernel.perf_event_max_sample_rate)"),
               limit);
  return FALSE;
}

static gboolean
check_targets (const LuOptions *self, GError **error)
{
  guint n = (self->command != NULL) + (self->pids != NULL) + (self->tids != NULL)
            + (self->all ? 1 : 0) + (self->input != NULL);

  if (n == 1)
    return TRUE;
  if (n == 0)
    return fail (error, "%s",
                 _ ("What shall be recorded? Give -- COMMAND, --pid PID, --tid TID, --all or "
                    "--input FILE; --help tells more."));
  return fail (
      error, "%s",
      _ ("Only one of -- COMMAND, --pid, --tid, --all and --input can be recorded at once"));
}

static gboolean
convert (LuOptions *self, const Raw *raw, GError **error)
{
  self->frequency = (guint) MAX (raw->frequency, 0);
  self->fail_on_loss = raw->fail_on_loss;
  self->table_memory = (guint) raw->table_memory;
  if (self->duration < 0)
    return fail (error, "%s", _ ("--duration: give seconds, more than 0"));
  if (raw->table_memory < 0 || raw->table_memory > MAX_TABLE_MEMORY)
    return fail (error, "%s", _ ("--table-memory: give MiB, up to 65536, or 0 for no tables"));
  return parse_ids (raw->pids, "--pid", &self->pids, error)
         && parse_ids (raw->tids, "--tid", &self->tids, error)
         && parse_stack_size (raw->stack_size, &self->stack_size, error)
         && find_engine (raw->engine, &self->engine, error)
         && parse_stats (raw->stats, &self->stats, error)
         && (self->input != NULL || check_frequency (raw->frequency, error))
         && check_targets (self, error);
}

static char *
join_arguments (int argc, char **argv)
{
  GString *line = g_string_new (argc > 0 ? argv[0] : "");

  for (int i = 1; i < argc; i++)
    g_string_append_printf (line, " %s", argv[i]);
  return g_string_free (line, FALSE);
}

static void
raw_clear (Raw *raw)
{
  g_free (raw->pids);
  g_free (raw->tids);
  g_free (raw->stack_size);
  g_free (raw->engine);
  g_free (raw->stats);
  g_strfreev (raw->command);
}

/* Everything from "--" or the first word that is no option is COMMAND. */
static gboolean
parse_context (GOptionContext *context, int argc, char **argv, GError **error)
{
  g_auto (GStrv) copy = g_new0 (char *, argc + 1);

  for (int i = 0; i < argc; i++)
    copy[i] = g_strdup (argv[i]);
  g_option_context_set_strict_posix (context, TRUE);
  return g_option_context_parse_strv (context, &copy, error);
}

gboolean
lu_options_parse (LuOptions *self, int argc, char **argv, GError **error)
{
  Raw raw = { .frequency = DEFAULT_FREQUENCY,
              .fail_on_loss = -1,
              .table_memory = LU_TABLES_BUDGET >> 20 };
  const GOptionEntry entries[] = {
    { "pid", 'p', 0, G_OPTION_ARG_STRING, &raw.pids,
      N_ ("Record these processes: all threads, and the threads and children they start"),
      N_ ("PID[,PID…]") },
    { "tid", 't', 0, G_OPTION_ARG_STRING, &raw.tids, N_ ("Record these threads"),
      N_ ("TID[,TID…]") },
    { "all", 'a', 0, G_OPTION_ARG_NONE, &self->all, N_ ("Record the whole system"), NULL },
    { "input", 0, 0, G_OPTION_ARG_FILENAME, &self->input,
      N_ ("Unwind a file of \"perf record --call-graph dwarf\" instead of sampling"), N_ ("FILE") },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &self->output,
      N_ ("Capture to write, - for standard output (default: " DEFAULT_OUTPUT ")"), N_ ("FILE") },
    { "force", 'f', 0, G_OPTION_ARG_NONE, &self->force, N_ ("Overwrite an existing capture"),
      NULL },
    { "duration", 'd', 0, G_OPTION_ARG_DOUBLE, &self->duration,
      N_ ("End the recording (not COMMAND) after this time"), N_ ("SECONDS") },
    { "frequency", 'F', 0, G_OPTION_ARG_INT, &raw.frequency,
      N_ ("Samples per second of CPU time (default: 999)"), N_ ("HZ") },
    { "stack-size", 's', 0, G_OPTION_ARG_STRING, &raw.stack_size,
      N_ ("Bytes of stack to copy per sample, or auto: 16384, grown when stacks are cut off"),
      N_ ("BYTES") },
    { "engine", 0, 0, G_OPTION_ARG_STRING, &raw.engine,
      N_ ("How to unwind: table (default), dwfl, or check (both, compared)"), N_ ("NAME") },
    { "stats", 0, 0, G_OPTION_ARG_STRING, &raw.stats,
      N_ ("Summary at the end, on standard error: text, json or none"), N_ ("FORMAT") },
    { "fail-on-loss", 0, 0, G_OPTION_ARG_DOUBLE, &raw.fail_on_loss,
      N_ ("Exit with 125 if more than this share of the samples was lost"), N_ ("PERCENT") },
    { "no-join", 0, 0, G_OPTION_ARG_NONE, &self->no_join,
      N_ ("Leave stacks that the copy cut off as they are, instead of completing them from other "
          "samples of the same thread"),
      NULL },
    { "table-memory", 0, 0, G_OPTION_ARG_INT, &raw.table_memory,
      N_ ("Memory for unwind tables of whole files; 0: none are made (default: 16)"), N_ ("MIB") },
    { "no-store", 0, 0, G_OPTION_ARG_NONE, &self->no_store,
      N_ ("Neither use nor keep unwind tables on disk"), NULL },
    { "include-self", 0, 0, G_OPTION_ARG_NONE, &self->include_self,
      N_ ("Keep samples of live-unwinder itself"), NULL },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &self->quiet,
      N_ ("Print nothing but errors (and --stats json)"), NULL },
    { "version", 'V', 0, G_OPTION_ARG_NONE, &self->show_version, N_ ("Print the version"), NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw.command, NULL, NULL },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[-- COMMAND ARGS…]"));
  gboolean ok;

  *self = (LuOptions){ 0 };
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  g_option_context_set_summary (
      context, _ ("Samples programs, unwinds each stack live and writes a Sysprof capture.\n\n"
                  "  live-unwinder [OPTIONS] -- COMMAND ARGS…   record a program from its start\n"
                  "  live-unwinder [OPTIONS] --pid PID          record a running process\n"
                  "  live-unwinder [OPTIONS] --all              record the whole system\n"
                  "  live-unwinder report FILE                  where the time went\n"
                  "  live-unwinder doctor                       what works here, and what to do"));
  ok = parse_context (context, argc, argv, error);
  if (ok && !self->show_version)
    {
      self->command = g_steal_pointer (&raw.command);
      ok = convert (self, &raw, error);
    }
  if (self->output == NULL)
    self->output = g_strdup (DEFAULT_OUTPUT);
  self->command_line = join_arguments (argc, argv);
  raw_clear (&raw);
  return ok;
}

void
lu_options_clear (LuOptions *self)
{
  g_strfreev (self->command);
  if (self->pids != NULL)
    g_array_unref (self->pids);
  if (self->tids != NULL)
    g_array_unref (self->tids);
  g_free (self->input);
  g_free (self->output);
  g_free (self->command_line);
}
