/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* parse-options.c - checks the options of a recording and converts their values; see
 * option-table.h. The options themselves are in option-table.c. */

#include "config.h"

#include "base/error.h"
#include "export/format.h"
#include "option-table.h"

#include <inttypes.h>
#include <unistd.h>

#define DEFAULT_OUTPUT    "capture.syscap"
#define DEFAULT_FREQUENCY 999
#define MAX_TABLE_MEMORY  65536
#define MIN_DEPTH         16
#define MAX_ROTATE        1000000
#define MIN_BPF_MEMORY    4
/* The times of top are in seconds. */
#define DEFAULT_WINDOW   10
#define DEFAULT_INTERVAL 2
#define MIN_INTERVAL     0.1
#define MAX_WINDOW       3600

static gboolean
fail (GError **error, const char *format, const char *value)
{
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, format, value);
  return FALSE;
}

static gboolean
parse_list (const char *text, const char *option, GArray *ids, GError **error)
{
  g_auto (GStrv) parts = NULL;

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
      g_array_append_val (ids, id);
    }
  return TRUE;
}

gboolean
lu_parse_ids (char **texts, const char *option, GArray **ids, GError **error)
{
  if (texts == NULL)
    return TRUE;
  *ids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  for (guint i = 0; texts[i] != NULL; i++)
    if (!parse_list (texts[i], option, *ids, error))
      return FALSE;
  return TRUE;
}

/* Returns the seconds of a unit and moves the text behind it; 0: there is no such unit. */
static double
take_unit (char **text)
{
  static const struct
  {
    const char *name;
    double seconds;
  } units[] = { { "ms", 0.001 }, { "s", 1 }, { "min", 60 }, { "m", 60 }, { "h", 3600 } };

  if (**text == 0)
    return 1;
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (g_str_has_prefix (*text, units[i].name))
      {
        *text += strlen (units[i].name);
        return units[i].seconds;
      }
  return 0;
}

/* "10", "2.5" or "1h2m3s". */
static gboolean
parse_duration (const char *text, const char *option, double *seconds, GError **error)
{
  const char *at = text;
  double sum = 0;

  if (text == NULL)
    return TRUE;
  do
    {
      char *end = NULL;
      double value = g_ascii_isdigit (*at) || *at == '.' ? g_ascii_strtod (at, &end) : -1;
      double unit = value >= 0 && end != at ? take_unit (&end) : 0;

      sum = unit > 0 ? sum + value * unit : 0;
      at = unit > 0 ? end : "";
    }
  while (*at != 0);
  *seconds = sum;
  if (sum > 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("%s: \"%s\" is not a time; give seconds, or a time like 1m30s"), option, text);
  return FALSE;
}

/* Refuses suffixes that promise a format which does not exist; any other name is a capture. */
static gboolean
check_output_names (char **outputs, GError **error)
{
  static const char *const others[] = { ".svg", ".json", ".htm", ".pb", ".txt", ".csv", ".gz" };

  g_autofree char *suffixes = lu_format_suffixes ();

  for (guint i = 0; outputs != NULL && outputs[i] != NULL; i++)
    for (guint k = 0; k < G_N_ELEMENTS (others); k++)
      if (g_str_has_suffix (outputs[i], others[k]) && lu_format_of (outputs[i]) == NULL)
        {
          g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("--output: %s would be a capture; suffixes of other formats are %s"),
                       outputs[i], suffixes);
          return FALSE;
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
                   _ ("--stack-size: the kernel does not accept \"%s\": give a multiple of 8 from "
                      "%d to %d bytes, or \"auto\""),
                   text, LU_STACK_SIZE_MIN, LU_STACK_SIZE_MAX);
      return FALSE;
    }
  *size = (guint32) value;
  return TRUE;
}

/* Reads the size that the inherited events were opened with; the kernel has accepted it already. */
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
          self->kernel_walks.wanted = engines[i].kernel_walks;
          return TRUE;
        }
      g_string_append_printf (known, " %s", engines[i].name);
    }
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("--engine: unknown engine \"%s\"; known engines:%s"), name, known->str);
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
  return fail (error, _ ("--stats: \"%s\" is not one of text, json, none"), name);
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
            + (self->names != NULL) + (self->all ? 1 : 0) + (self->input != NULL);

  for (guint i = 0; self->names != NULL && self->names[i] != NULL; i++)
    if (self->names[i][0] == 0)
      return fail (error, "%s", _ ("--name: give a name, or a part of one"));
  if (self->wait && self->names == NULL)
    return fail (error, "%s", _ ("--wait needs --name"));
  if (n == 1)
    return TRUE;
  if (n == 0)
    return fail (error, "%s",
                 _ ("Nothing to record: give -- COMMAND, --pid PID, --name TEXT, --tid TID, --all "
                    "or --input FILE; see --help."));
  return fail (error, "%s",
               _ ("Only one of -- COMMAND, --pid, --name, --tid, --all and --input can be recorded "
                  "at once"));
}

/* Parses FD or FD:CPU. Sysprof's daemon passes -1 for an event that belongs to no CPU. */
static gboolean
parse_perf_fd (const char *text, LuInheritedEvent *event, GError **error)
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
  *events = g_array_new (FALSE, FALSE, sizeof (LuInheritedEvent));
  for (guint i = 0; texts[i] != NULL; i++)
    {
      LuInheritedEvent event;

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
    return fail (error, _ ("A helper needs --perf-fd and --capture-fd; %s is missing"), option);
  return fail (error, _ ("%s: give the number of an open descriptor, above 2"), option);
}

/* A helper's client decides on the targets and the output. */
static gboolean
check_helper (const LuOptions *self, const LuRawOptions *raw, GError **error)
{
  const struct
  {
    gboolean is_given;
    const char *option;
  } others[] = {
    { self->command != NULL, "-- COMMAND" },
    { raw->pids != NULL, "--pid" },
    { raw->tids != NULL, "--tid" },
    { self->names != NULL, "--name" },
    { self->all, "--all" },
    { self->input != NULL, "--input" },
    { self->outputs != NULL, "--output" },
    { self->force, "--force" },
    { self->open, "--open" },
    { raw->duration != NULL, "--duration" },
    { raw->rotate != LU_NOT_GIVEN, "--rotate" },
    { raw->frequency != LU_NOT_GIVEN, "--frequency" },
    { raw->fail_on_loss >= 0, "--fail-on-loss" },
    { raw->debuginfod != NULL, "--debuginfod" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (others[i].is_given)
      return fail (error,
                   _ ("%s cannot be used with the options of a helper: the client that passes the "
                      "descriptors decides it"),
                   others[i].option);
  return check_fd ("--perf-fd", raw->perf_fds != NULL ? G_MAXINT : -1, TRUE, error)
         && check_fd ("--capture-fd", raw->capture_fd, TRUE, error)
         && check_fd ("--event-fd", raw->event_fd, FALSE, error)
         && check_fd ("--kallsyms", raw->kallsyms_fd, FALSE, error);
}

static gboolean
convert_table_memory (LuOptions *self, const LuRawOptions *raw, GError **error)
{
  self->table_memory = (guint) raw->table_memory;
  if (raw->table_memory < 0 || raw->table_memory > MAX_TABLE_MEMORY)
    return fail (error, "%s", _ ("--table-memory: give MiB, up to 65536, or 0 for no tables"));
  return TRUE;
}

static gboolean
convert_kernel_walks (LuOptions *self, const LuRawOptions *raw, GError **error)
{
  if (!find_engine (self, raw->engine, error))
    return FALSE;
  self->kernel_walks.max_depth = (guint) raw->max_depth;
  self->kernel_walks.bpf_memory = (guint) raw->bpf_memory;
  if (raw->max_depth != 0 && (raw->max_depth < MIN_DEPTH || raw->max_depth > LU_BPF_MAX_FRAMES))
    return fail (error, "%s", _ ("--max-depth: give a number of frames from 16 to 4096"));
  if (raw->bpf_memory != 0
      && (raw->bpf_memory < MIN_BPF_MEMORY || raw->bpf_memory > LU_BPF_MAX_ENTRIES))
    return fail (error, "%s", _ ("--bpf-memory: give MiB, from 4 to 1024"));
  if (self->input != NULL && self->kernel_walks.wanted > LU_KERNEL_WALKS_IF_SAFE)
    return fail (error,
                 _ ("--engine %s works only while sampling: the stacks of a file were unwound or "
                    "copied when it was recorded"),
                 self->engine_name);
  return TRUE;
}

static gboolean
convert_rotation (LuOptions *self, const LuRawOptions *raw, GError **error)
{
  if (raw->rotate_keep != LU_NOT_GIVEN && raw->rotate == LU_NOT_GIVEN)
    return fail (error, "%s", _ ("--rotate-keep needs --rotate"));
  if (raw->rotate == LU_NOT_GIVEN)
    return TRUE;
  if (self->open)
    return fail (error, "%s", _ ("--open cannot be used with --rotate"));
  if (raw->rotate < 1 || raw->rotate > MAX_ROTATE)
    return fail (error, "%s", _ ("--rotate: give seconds, from 1 to a million"));
  if (raw->rotate_keep != LU_NOT_GIVEN && raw->rotate_keep < 1)
    return fail (error, "%s", _ ("--rotate-keep: give a number of files, from 1"));
  /* files are finished while recording, and nothing is fetched then */
  if (self->debuginfod == LU_FETCHER_YES)
    return fail (error, "%s",
                 _ ("--debuginfod=yes cannot be used with --rotate: let report fetch the files"));
  self->debuginfod = LU_FETCHER_NO;
  self->rotate = (guint) raw->rotate;
  self->rotate_keep = raw->rotate_keep != LU_NOT_GIVEN ? (guint) raw->rotate_keep : 0;
  return TRUE;
}

static gboolean
convert_helper (LuOptions *self, const LuRawOptions *raw, GError **error)
{
  self->helper.capture_fd = raw->capture_fd;
  self->helper.event_fd = raw->event_fd;
  self->helper.kallsyms_fd = raw->kallsyms_fd;
  self->fail_on_loss = -1;
  self->debuginfod = LU_FETCHER_NO;
  if (!check_helper (self, raw, error))
    return FALSE;
  self->outputs = g_strdupv ((char *[]){ (char *) "-", NULL });
  /* Standard error of a helper is the journal; do not write a summary there unless asked to. */
  self->quiet |= raw->stats == NULL;
  return parse_perf_fds (raw->perf_fds, &self->helper.events, error)
         && parse_handed_stack_size (raw->stack_size, &self->stack_size, error)
         && convert_table_memory (self, raw, error) && convert_kernel_walks (self, raw, error)
         && parse_stats (raw->stats, &self->stats, error);
}

static gboolean
wants_helper (const LuRawOptions *raw)
{
  return raw->perf_fds != NULL || raw->capture_fd != -1 || raw->event_fd != -1
         || raw->kallsyms_fd != -1;
}

static gboolean
convert (LuOptions *self, const LuRawOptions *raw, GError **error)
{
  int frequency = raw->frequency != LU_NOT_GIVEN ? raw->frequency : DEFAULT_FREQUENCY;

  if (wants_helper (raw))
    return convert_helper (self, raw, error);
  self->frequency = (guint) MAX (frequency, 0);
  self->fail_on_loss = raw->fail_on_loss;
  return parse_duration (raw->duration, "--duration", &self->duration, error)
         && check_output_names (self->outputs, error)
         && lu_parse_ids (raw->pids, "--pid", &self->pids, error)
         && lu_parse_ids (raw->tids, "--tid", &self->tids, error)
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

/* COMMAND begins at "--" or at the first word that is no option. */
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
  g_autoptr (GOptionContext) context = NULL;
  LuRawOptions raw;
  gboolean ok;

  lu_raw_options_init (&raw);
  context = lu_option_table_parser (&raw);
  ok = parse_context (context, argc, argv, error);
  *self = raw.options;
  if (ok && !self->show_version)
    {
      self->command = g_steal_pointer (&raw.command);
      ok = convert (self, &raw, error);
    }
  if (self->outputs == NULL)
    self->outputs = g_strdupv ((char *[]){ (char *) DEFAULT_OUTPUT, NULL });
  self->output = self->outputs[0];
  self->command_line = join_arguments (argc, argv);
  lu_raw_options_clear (&raw);
  return ok;
}

static gboolean
convert_top (LuTopOptions *self, const LuRawOptions *raw, GError **error)
{
  self->window = DEFAULT_WINDOW;
  self->interval = DEFAULT_INTERVAL;
  self->is_batch = raw->batch != LU_NOT_GIVEN;
  self->n_tables = self->is_batch ? (guint) MAX (raw->batch, 0) : 0;
  if (!parse_duration (raw->window, "--window", &self->window, error)
      || !parse_duration (raw->interval, "--interval", &self->interval, error))
    return FALSE;
  if (self->window > MAX_WINDOW)
    return fail (error, "%s", _ ("--window: give up to an hour"));
  if (self->interval < MIN_INTERVAL || self->interval > MAX_WINDOW)
    return fail (error, "%s", _ ("--interval: give 100ms to an hour"));
  return TRUE;
}

gboolean
lu_options_parse_top (LuOptions *self, LuTopOptions *top, int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = NULL;
  LuRawOptions raw;
  gboolean ok;

  lu_raw_options_init (&raw);
  context = lu_option_table_top_parser (&raw);
  ok = parse_context (context, argc, argv, error);
  raw.options.all |=
      raw.command == NULL && raw.pids == NULL && raw.tids == NULL && raw.options.names == NULL;
  *self = raw.options;
  self->command = g_steal_pointer (&raw.command);
  ok = ok && convert (self, &raw, error) && convert_top (top, &raw, error);
  self->command_line = join_arguments (argc, argv);
  lu_raw_options_clear (&raw);
  return ok;
}
