/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* options.c - one table of options; see options.h. */

#include "config.h"

#include "options.h"

#include "base/error.h"
#include "input/perf-event.h"
#include "lu/bpf.h"
#include "module/tables.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_OUTPUT    "capture.syscap"
#define DEFAULT_FREQUENCY 999
#define MAX_TABLE_MEMORY  65536
#define MIN_DEPTH         16
#define MAX_ROTATE        1000000
#define MIN_BPF_MEMORY    4
#define NOT_GIVEN         G_MININT

/* Values as the user wrote them. */
typedef struct
{
  char *pids, *tids, *stack_size, *engine, *stats, *debuginfod;
  char **command;
  double fail_on_loss;
  int table_memory, max_depth, bpf_memory;
  int rotate, rotate_keep; /* NOT_GIVEN, or any number */
  int frequency;           /* NOT_GIVEN, or any number */
  char **perf_fds;
  int capture_fd, event_fd, kallsyms_fd; /* -1: not given */
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

/* The size that the handed events were opened with; whoever did so has seen to it that the kernel
 * takes it. */
static gboolean
parse_handed_stack_size (const char *text, guint32 *size, GError **error)
{
  guint64 value = 0;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &value, NULL))
    return fail (error, _ ("--stack-size: \"%s\" is not a number of bytes"), text);
  *size = (guint32) value;
  return TRUE;
}

/* The first one is the default. */
static const struct
{
  const char *name;
  const LuUnwinderOps *unwinder;
  LuKernelWalksWanted kernel_walks;
} engines[] = {
  { "auto", &lu_unwinder_table, LU_KERNEL_WALKS_IF_SAFE },
  { "bpf", &lu_unwinder_table, LU_KERNEL_WALKS_ALWAYS },
  { "table", &lu_unwinder_table, LU_KERNEL_WALKS_NEVER },
  { "dwfl", &lu_unwinder_dwfl, LU_KERNEL_WALKS_NEVER },
  { "check", &lu_unwinder_check, LU_KERNEL_WALKS_NEVER },
  { "bpf-check", &lu_unwinder_check, LU_KERNEL_WALKS_CHECKED },
};

static gboolean
find_engine (LuOptions *self, const char *name, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (engines); i++)
    {
      if (name == NULL || strcmp (name, engines[i].name) == 0)
        {
          self->engine_name = engines[i].name;
          self->engine = engines[i].unwinder;
          self->kernel_walks = engines[i].kernel_walks;
          return TRUE;
        }
      g_string_append_printf (known, " %s", engines[i].name);
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

/* FD or FD:CPU; Sysprof's daemon says -1 of an event that is of no CPU */
static gboolean
parse_perf_fd (const char *text, LuHandedEvent *event, GError **error)
{
  char *end;
  guint64 fd = g_ascii_strtoull (text, &end, 10), cpu = 0;
  gboolean is_number = g_ascii_isdigit (text[0]) && fd <= G_MAXINT;

  event->fd = (int) fd;
  event->cpu = -1;
  if (is_number && strcmp (end, ":-1") == 0)
    is_number = TRUE;
  else if (is_number && *end == ':')
    {
      is_number = g_ascii_string_to_unsigned (end + 1, 10, 0, G_MAXINT16, &cpu, NULL);
      event->cpu = (int) cpu;
    }
  else
    is_number = is_number && *end == 0;
  if (is_number && event->fd > STDERR_FILENO)
    return TRUE;
  return fail (error, _ ("--perf-fd: \"%s\" is not a descriptor above 2 and a CPU, as in 5:0"),
               text);
}

static gboolean
parse_perf_fds (char **texts, GArray **events, GError **error)
{
  *events = g_array_new (FALSE, FALSE, sizeof (LuHandedEvent));
  for (guint i = 0; texts[i] != NULL; i++)
    {
      LuHandedEvent event;

      if (!parse_perf_fd (texts[i], &event, error))
        return FALSE;
      g_array_append_val (*events, event);
    }
  return TRUE;
}

static gboolean
check_fd (const char *option, int fd, gboolean is_needed, GError **error)
{
  if (fd > STDERR_FILENO || (fd == -1 && !is_needed))
    return TRUE;
  if (fd == -1)
    return fail (error, _ ("A helper needs --perf-fd and --capture-fd; there is no %s"), option);
  return fail (error, _ ("%s: give the number of an open descriptor, above 2"), option);
}

/* What is recorded, and where to, is the client's business. */
static gboolean
check_helper (const LuOptions *self, const Raw *raw, GError **error)
{
  const struct
  {
    gboolean is_given;
    const char *option;
  } others[] = {
    { self->command != NULL, "-- COMMAND" },
    { raw->pids != NULL, "--pid" },
    { raw->tids != NULL, "--tid" },
    { self->all, "--all" },
    { self->input != NULL, "--input" },
    { self->outputs != NULL, "--output" },
    { self->force, "--force" },
    { self->duration != 0, "--duration" },
    { raw->rotate != NOT_GIVEN, "--rotate" },
    { raw->frequency != NOT_GIVEN, "--frequency" },
    { raw->fail_on_loss >= 0, "--fail-on-loss" },
    { raw->debuginfod != NULL, "--debuginfod" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (others[i].is_given)
      return fail (error,
                   _ ("%s does not go with the options of a helper: the client that hands over "
                      "descriptors decides on that"),
                   others[i].option);
  return check_fd ("--perf-fd", raw->perf_fds != NULL ? G_MAXINT : -1, TRUE, error)
         && check_fd ("--capture-fd", raw->capture_fd, TRUE, error)
         && check_fd ("--event-fd", raw->event_fd, FALSE, error)
         && check_fd ("--kallsyms", raw->kallsyms_fd, FALSE, error);
}

static gboolean
convert_table_memory (LuOptions *self, const Raw *raw, GError **error)
{
  self->table_memory = (guint) raw->table_memory;
  if (raw->table_memory < 0 || raw->table_memory > MAX_TABLE_MEMORY)
    return fail (error, "%s", _ ("--table-memory: give MiB, up to 65536, or 0 for no tables"));
  return TRUE;
}

static gboolean
convert_kernel_walks (LuOptions *self, const Raw *raw, GError **error)
{
  if (!find_engine (self, raw->engine, error))
    return FALSE;
  self->max_depth = (guint) raw->max_depth;
  self->bpf_memory = (guint) raw->bpf_memory;
  if (raw->max_depth != 0 && (raw->max_depth < MIN_DEPTH || raw->max_depth > LU_BPF_MAX_FRAMES))
    return fail (error, "%s", _ ("--max-depth: give a number of frames from 16 to 4096"));
  if (raw->bpf_memory != 0
      && (raw->bpf_memory < MIN_BPF_MEMORY || raw->bpf_memory > LU_BPF_MAX_ENTRIES))
    return fail (error, "%s", _ ("--bpf-memory: give MiB, from 4 to 1024"));
  if (self->input != NULL && self->kernel_walks > LU_KERNEL_WALKS_IF_SAFE)
    return fail (error,
                 _ ("--engine %s is for sampling: what is in a file was walked, or copied, "
                    "when it was recorded"),
                 self->engine_name);
  return TRUE;
}

static gboolean
convert_rotation (LuOptions *self, const Raw *raw, GError **error)
{
  if (raw->rotate_keep != NOT_GIVEN && raw->rotate == NOT_GIVEN)
    return fail (error, "%s", _ ("--rotate-keep goes with --rotate only"));
  if (raw->rotate == NOT_GIVEN)
    return TRUE;
  if (raw->rotate < 1 || raw->rotate > MAX_ROTATE)
    return fail (error, "%s", _ ("--rotate: give seconds, from 1 to a million"));
  if (raw->rotate_keep != NOT_GIVEN && raw->rotate_keep < 1)
    return fail (error, "%s", _ ("--rotate-keep: give a number of files, from 1"));
  /* files are finished while it is recorded, and nothing is fetched then */
  if (self->debuginfod == LU_FETCHER_YES)
    return fail (error, "%s", _ ("--debuginfod=yes does not go with --rotate: let report fetch"));
  self->debuginfod = LU_FETCHER_NO;
  self->rotate = (guint) raw->rotate;
  self->rotate_keep = raw->rotate_keep != NOT_GIVEN ? (guint) raw->rotate_keep : 0;
  return TRUE;
}

static gboolean
convert_helper (LuOptions *self, const Raw *raw, GError **error)
{
  self->helper.capture_fd = raw->capture_fd;
  self->helper.event_fd = raw->event_fd;
  self->helper.kallsyms_fd = raw->kallsyms_fd;
  self->fail_on_loss = -1;
  self->debuginfod = LU_FETCHER_NO;
  if (!check_helper (self, raw, error))
    return FALSE;
  self->outputs = g_strdupv ((char *[]){ (char *) "-", NULL });
  /* Its standard error is a journal, where nobody asked for a summary. */
  self->quiet |= raw->stats == NULL;
  return parse_perf_fds (raw->perf_fds, &self->helper.events, error)
         && parse_handed_stack_size (raw->stack_size, &self->stack_size, error)
         && convert_table_memory (self, raw, error) && convert_kernel_walks (self, raw, error)
         && parse_stats (raw->stats, &self->stats, error);
}

static gboolean
wants_helper (const Raw *raw)
{
  return raw->perf_fds != NULL || raw->capture_fd != -1 || raw->event_fd != -1
         || raw->kallsyms_fd != -1;
}

static gboolean
convert (LuOptions *self, const Raw *raw, GError **error)
{
  int frequency = raw->frequency != NOT_GIVEN ? raw->frequency : DEFAULT_FREQUENCY;

  if (wants_helper (raw))
    return convert_helper (self, raw, error);
  self->frequency = (guint) MAX (frequency, 0);
  self->fail_on_loss = raw->fail_on_loss;
  if (self->duration < 0)
    return fail (error, "%s", _ ("--duration: give seconds, more than 0"));
  return parse_ids (raw->pids, "--pid", &self->pids, error)
         && parse_ids (raw->tids, "--tid", &self->tids, error)
         && parse_stack_size (raw->stack_size, &self->stack_size, error)
         && convert_table_memory (self, raw, error) && convert_kernel_walks (self, raw, error)
         && parse_stats (raw->stats, &self->stats, error)
         && lu_fetcher_parse_mode (raw->debuginfod, &self->debuginfod, error)
         && convert_rotation (self, raw, error)
         && (self->input != NULL || check_frequency (frequency, error))
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
  g_free (raw->debuginfod);
  g_strfreev (raw->command);
  g_strfreev (raw->perf_fds);
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
  Raw raw = { .frequency = NOT_GIVEN,
              .rotate = NOT_GIVEN,
              .rotate_keep = NOT_GIVEN,
              .table_memory = LU_TABLES_BUDGET >> 20,
              .fail_on_loss = -1,
              .capture_fd = -1,
              .event_fd = -1,
              .kallsyms_fd = -1 };
  const GOptionEntry entries[] = {
    { "pid", 'p', 0, G_OPTION_ARG_STRING, &raw.pids,
      N_ ("Record these processes: all threads, and the threads and children they start"),
      N_ ("PID[,PID…]") },
    { "tid", 't', 0, G_OPTION_ARG_STRING, &raw.tids, N_ ("Record these threads"),
      N_ ("TID[,TID…]") },
    { "all", 'a', 0, G_OPTION_ARG_NONE, &self->all, N_ ("Record the whole system"), NULL },
    { "input", 0, 0, G_OPTION_ARG_FILENAME, &self->input,
      N_ ("Take a file of \"perf record -g\" instead of sampling, and unwind it if it was recorded "
          "with "
          "--call-graph dwarf"),
      N_ ("FILE") },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &self->outputs,
      N_ ("Capture to write, - for standard output (default: capture.syscap); other formats by "
          "the end of the name: .folded, .html, .pb.gz, .json.gz, .speedscope.json, perf.data; may "
          "be given often"),
      N_ ("FILE") },
    { "force", 'f', 0, G_OPTION_ARG_NONE, &self->force, N_ ("Overwrite an existing capture"),
      NULL },
    { "duration", 'd', 0, G_OPTION_ARG_DOUBLE, &self->duration,
      N_ ("End the recording (not COMMAND) after this time"), N_ ("SECONDS") },
    { "rotate", 0, 0, G_OPTION_ARG_INT, &raw.rotate,
      N_ ("Begin new files after this time, again and again, named after the time they begin"),
      N_ ("SECONDS") },
    { "rotate-keep", 0, 0, G_OPTION_ARG_INT, &raw.rotate_keep,
      N_ ("With --rotate: remove all finished files but so many of each output"), N_ ("N") },
    { "frequency", 'F', 0, G_OPTION_ARG_INT, &raw.frequency,
      N_ ("Samples per second of CPU time (default: 999)"), N_ ("HZ") },
    { "stack-size", 's', 0, G_OPTION_ARG_STRING, &raw.stack_size,
      N_ ("Bytes of stack to copy per sample, or auto: 16384, grown when stacks are cut off"),
      N_ ("BYTES") },
    { "engine", 0, 0, G_OPTION_ARG_STRING, &raw.engine,
      N_ ("How to unwind: auto (default: bpf where that works, else table), bpf (in the kernel), "
          "table, dwfl, check (table and dwfl, compared) or bpf-check (all three)"),
      N_ ("NAME") },
    { "max-depth", 0, 0, G_OPTION_ARG_INT, &raw.max_depth,
      N_ ("Frames that are walked in the kernel at most, up to 4096 (default: 1024)"),
      N_ ("FRAMES") },
    { "bpf-memory", 0, 0, G_OPTION_ARG_INT, &raw.bpf_memory,
      N_ ("Memory for unwind tables in the kernel (default: 64)"), N_ ("MIB") },
    { "unsafe-kernel", 0, 0, G_OPTION_ARG_NONE, &self->unsafe_kernel,
      N_ ("With --engine bpf: also in a kernel that may hang from it (see doctor)"), NULL },
    { "time-walks", 0, 0, G_OPTION_ARG_NONE, &self->time_walks,
      N_ ("Have the kernel measure its walks, for the summary"), NULL },
    { "stats", 0, 0, G_OPTION_ARG_STRING, &raw.stats,
      N_ ("Summary at the end, on standard error: text, json or none"), N_ ("FORMAT") },
    { "fail-on-loss", 0, 0, G_OPTION_ARG_DOUBLE, &raw.fail_on_loss,
      N_ ("Exit with 125 if more than this share of the samples was lost"), N_ ("PERCENT") },
    { "no-join", 0, 0, G_OPTION_ARG_NONE, &self->no_join,
      N_ ("Leave stacks that the copy cut off as they are, instead of completing them from other "
          "samples of the same thread"),
      NULL },
    { "no-symbols", 0, 0, G_OPTION_ARG_NONE, &self->no_symbols,
      N_ ("Leave the names of functions out of the capture"), NULL },
    { "lines", 0, 0, G_OPTION_ARG_NONE, &self->lines,
      N_ ("With other formats than a capture: source lines, by debug information"), NULL },
    { "inlines", 0, 0, G_OPTION_ARG_NONE, &self->inlines,
      N_ ("With other formats than a capture: inlined functions as such, by debug information"),
      NULL },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &raw.debuginfod, LU_FETCHER_HELP,
      LU_FETCHER_CHOICE },
    { "redact", 0, 0, G_OPTION_ARG_NONE, &self->redact,
      N_ ("Leave out arguments of programs, names of the machine and addresses of the kernel"),
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
  const GOptionEntry helper_entries[] = {
    { "perf-fd", 0, 0, G_OPTION_ARG_STRING_ARRAY, &raw.perf_fds,
      N_ ("An open perf event and the CPU it samples; may be given often"), N_ ("FD[:CPU]") },
    { "capture-fd", 0, 0, G_OPTION_ARG_INT, &raw.capture_fd,
      N_ ("Where the capture is written: a pipe, a socket or a file"), N_ ("FD") },
    { "event-fd", 0, 0, G_OPTION_ARG_INT, &raw.event_fd, N_ ("Stop when this becomes readable"),
      N_ ("FD") },
    { "kallsyms", 'k', 0, G_OPTION_ARG_INT, &raw.kallsyms_fd,
      N_ ("Put kernel names from here into the capture"), N_ ("FD") },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (_ ("[-- COMMAND ARGS…]"));
  GOptionGroup *helper_group = g_option_group_new (
      "helper", _ ("As Sysprof's helper (with --stack-size):"),
      _ ("Show the options of a helper, which Sysprof's daemon gives"), NULL, NULL);
  gboolean ok;

  *self = (LuOptions){ .helper = { .capture_fd = -1, .event_fd = -1, .kallsyms_fd = -1 } };
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  g_option_group_add_entries (helper_group, helper_entries);
  g_option_group_set_translation_domain (helper_group, GETTEXT_PACKAGE);
  g_option_context_add_group (context, helper_group);
  g_option_context_set_summary (
      context, _ ("Samples programs, unwinds each stack live and writes a Sysprof capture.\n\n"
                  "  live-unwinder [OPTIONS] -- COMMAND ARGS…   record a program from its start\n"
                  "  live-unwinder [OPTIONS] --pid PID          record a running process\n"
                  "  live-unwinder [OPTIONS] --all              record the whole system\n"
                  "  live-unwinder report FILE                  where the time went\n"
                  "  live-unwinder diff A B                     what changed\n"
                  "  live-unwinder convert IN OUT               into another format\n"
                  "  live-unwinder tables FILE                  the unwind table of a file\n"
                  "  live-unwinder doctor                       what works here, and what to do"));
  ok = parse_context (context, argc, argv, error);
  if (ok && !self->show_version)
    {
      self->command = g_steal_pointer (&raw.command);
      ok = convert (self, &raw, error);
    }
  if (self->outputs == NULL)
    self->outputs = g_strdupv ((char *[]){ (char *) DEFAULT_OUTPUT, NULL });
  self->output = self->outputs[0];
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
  if (self->helper.events != NULL)
    g_array_unref (self->helper.events);
  g_free (self->input);
  g_strfreev (self->outputs);
  g_free (self->command_line);
}
