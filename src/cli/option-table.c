/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* option-table.c - the options of a recording; see option-table.h. Tests compare the table with the
 * man page and the completions. */

#include "config.h"

#include "export/format.h"
#include "option-table.h"

#include <stddef.h>

/* A GOptionEntry with an offset instead of the address of its value. */
typedef struct
{
  const char *name;
  char short_name; /* 0: none */
  GOptionArg type;
  gsize offset;      /* of the value in LuRawOptions */
  const char *help;  /* NULL: --help does not show it */
  const char *value; /* what --help calls the value; NULL: it takes none */
} Option;

#define FIELD(name) offsetof (LuRawOptions, name)

static const Option recording_options[] = {
  { "pid", 'p', G_OPTION_ARG_STRING_ARRAY, FIELD (pids),
    N_ ("Record these processes: all threads, and the threads and children they start"),
    N_ ("PID[,PID…]") },
  { "tid", 't', G_OPTION_ARG_STRING_ARRAY, FIELD (tids), N_ ("Record these threads"),
    N_ ("TID[,TID…]") },
  { "name", 0, G_OPTION_ARG_STRING_ARRAY, FIELD (options.names),
    N_ ("Record the running processes of this name, or else those whose name contains it"),
    N_ ("TEXT") },
  { "wait", 0, G_OPTION_ARG_NONE, FIELD (options.wait),
    N_ ("With --name: wait until there is such a process"), NULL },
  { "all", 'a', G_OPTION_ARG_NONE, FIELD (options.all), N_ ("Record the whole system"), NULL },
  { "input", 0, G_OPTION_ARG_FILENAME, FIELD (options.input),
    N_ ("Read samples from a file of \"perf record -g\" instead of sampling; unwind its stacks if "
        "it was recorded with --call-graph dwarf"),
    N_ ("FILE") },
  { "output", 'o', G_OPTION_ARG_FILENAME_ARRAY, FIELD (options.outputs),
    N_ ("Write the capture to this file, - for standard output (default: capture.syscap); a suffix "
        "selects another format (listed below); can be repeated"),
    N_ ("FILE") },
  { "open", 0, G_OPTION_ARG_NONE, FIELD (options.open),
    N_ ("Show the recording when it is over: a page in the browser, or a capture in Sysprof"),
    NULL },
  { "force", 'f', G_OPTION_ARG_NONE, FIELD (options.force), N_ ("Overwrite an existing capture"),
    NULL },
  { "duration", 'd', G_OPTION_ARG_STRING, FIELD (duration),
    N_ ("Stop recording (but not COMMAND) after this time: seconds, or as in 1m30s"), N_ ("TIME") },
  { "rotate", 0, G_OPTION_ARG_INT, FIELD (rotate),
    N_ ("Start new files at this interval, named after the time they start"), N_ ("SECONDS") },
  { "rotate-keep", 0, G_OPTION_ARG_INT, FIELD (rotate_keep),
    N_ ("With --rotate: keep only the newest N files per output"), N_ ("N") },
  { "frequency", 'F', G_OPTION_ARG_INT, FIELD (frequency),
    N_ ("Samples per second of CPU time (default: 999)"), N_ ("HZ") },
  { "stack-size", 's', G_OPTION_ARG_STRING, FIELD (stack_size),
    N_ ("Bytes of stack to copy per sample, or auto: 16384, more when stacks are cut off"),
    N_ ("BYTES") },
  { "engine", 0, G_OPTION_ARG_STRING, FIELD (engine),
    N_ ("How to unwind: auto (default: bpf where that works, else table), bpf (in the kernel), "
        "table, dwfl, check (table and dwfl, compared) or bpf-check (all three)"),
    N_ ("NAME") },
  { "max-depth", 0, G_OPTION_ARG_INT, FIELD (max_depth),
    N_ ("Unwind at most this many frames in the kernel, from 16 to 4096 (default)"),
    N_ ("FRAMES") },
  { "bpf-memory", 0, G_OPTION_ARG_INT, FIELD (bpf_memory),
    N_ ("Memory for unwind tables in the kernel (default: 64)"), N_ ("MIB") },
  { "unsafe-kernel", 0, G_OPTION_ARG_NONE, FIELD (options.kernel_walks.unsafe_kernel),
    N_ ("With --engine bpf: unwind even in a kernel that may hang from it (see doctor)"), NULL },
  { "time-walks", 0, G_OPTION_ARG_NONE, FIELD (options.kernel_walks.time_walks),
    N_ ("Measure how long the kernel takes to unwind, for the summary"), NULL },
  { "stats", 0, G_OPTION_ARG_STRING, FIELD (stats),
    N_ ("Format of the summary on standard error: text, json or none"), N_ ("FORMAT") },
  { "fail-on-loss", 0, G_OPTION_ARG_DOUBLE, FIELD (fail_on_loss),
    N_ ("Exit with 125 if more than this percentage of the samples was lost"), N_ ("PERCENT") },
  { "native-frames", 0, G_OPTION_ARG_NONE, FIELD (options.native_frames),
    N_ ("Show the interpreter's own frames beside the functions that it runs (Python, Ruby)"),
    NULL },
  { "no-join", 0, G_OPTION_ARG_NONE, FIELD (options.no_join),
    N_ ("Do not use other samples of a thread to complete stacks that the copy cut off"), NULL },
  { "no-symbols", 0, G_OPTION_ARG_NONE, FIELD (options.no_symbols),
    N_ ("Leave the names of functions out of the capture"), NULL },
  { "no-counters", 0, G_OPTION_ARG_NONE, FIELD (options.no_counters),
    N_ ("Leave out how busy CPUs, memory, network and disks were"), NULL },
  { "lines", 0, G_OPTION_ARG_NONE, FIELD (options.lines),
    N_ ("In formats other than a capture: add source lines from debug information"), NULL },
  { "inlines", 0, G_OPTION_ARG_NONE, FIELD (options.inlines),
    N_ ("In formats other than a capture: show inlined functions, from debug information"), NULL },
  { "full-names", 0, G_OPTION_ARG_NONE, FIELD (options.full_names),
    N_ ("In formats other than a capture: do not shorten the names of functions"), NULL },
  { "no-tail-calls", 0, G_OPTION_ARG_NONE, FIELD (options.no_tail_calls),
    N_ ("In formats other than a capture: leave out functions that ended with a tail call"), NULL },
  { "debuginfod", 0, G_OPTION_ARG_STRING, FIELD (debuginfod), LU_FETCHER_HELP, LU_FETCHER_CHOICE },
  { "redact", 0, G_OPTION_ARG_NONE, FIELD (options.redact),
    N_ ("Leave out program arguments, host names and kernel addresses"), NULL },
  { "table-memory", 0, G_OPTION_ARG_INT, FIELD (table_memory),
    N_ ("Memory for unwind tables of whole files; 0 disables them (default: 16)"), N_ ("MIB") },
  { "no-store", 0, G_OPTION_ARG_NONE, FIELD (options.no_store),
    N_ ("Do not read or write unwind tables on disk"), NULL },
  { "include-self", 0, G_OPTION_ARG_NONE, FIELD (options.include_self),
    N_ ("Keep samples of live-unwinder itself"), NULL },
  { "quiet", 'q', G_OPTION_ARG_NONE, FIELD (options.quiet),
    N_ ("Print only errors (and --stats json)"), NULL },
  { "verbose", 'v', G_OPTION_ARG_NONE, FIELD (options.verbose),
    N_ ("Print everything that was counted in the summary"), NULL },
  { "version", 'V', G_OPTION_ARG_NONE, FIELD (options.show_version), N_ ("Print the version"),
    NULL },
  { "call-graph", 0, G_OPTION_ARG_STRING, FIELD (call_graph), NULL, NULL },
  { "with-stacks", 'g', G_OPTION_ARG_NONE, FIELD (wants_graph), NULL, NULL },
  { G_OPTION_REMAINING, 0, G_OPTION_ARG_STRING_ARRAY, FIELD (command), NULL, NULL },
};

static const Option helper_options[] = {
  { "perf-fd", 0, G_OPTION_ARG_STRING_ARRAY, FIELD (perf_fds),
    N_ ("An open perf event and the CPU that it samples; can be repeated"), N_ ("FD[:CPU]") },
  { "capture-fd", 0, G_OPTION_ARG_INT, FIELD (capture_fd),
    N_ ("Write the capture to this pipe, socket or file"), N_ ("FD") },
  { "event-fd", 0, G_OPTION_ARG_INT, FIELD (event_fd),
    N_ ("Stop when this descriptor becomes readable"), N_ ("FD") },
  { "kallsyms", 'k', G_OPTION_ARG_INT, FIELD (kallsyms_fd),
    N_ ("Read the names of kernel functions from this descriptor"), N_ ("FD") },
};

/* The options of a recording that top takes. */
static const char *const shared_options[] = { "pid",          "tid",       "name",   "wait",
                                              "all",          "frequency", "engine", "no-store",
                                              "include-self", "" };

static const Option top_options[] = {
  { "window", 0, G_OPTION_ARG_STRING, FIELD (window),
    N_ ("Show the samples of this time (default: 10s)"), N_ ("TIME") },
  { "interval", 0, G_OPTION_ARG_STRING, FIELD (interval),
    N_ ("Show them anew after this time (default: 2s)"), N_ ("TIME") },
  { "batch", 0, G_OPTION_ARG_INT, FIELD (batch),
    N_ ("Print this many tables instead of using the screen; 0: without end"), N_ ("N") },
  { "full-names", 0, G_OPTION_ARG_NONE, FIELD (options.full_names),
    N_ ("Show names with return types, parameters and all template arguments"), NULL },
};

void
lu_raw_options_init (LuRawOptions *self)
{
  *self = (LuRawOptions){ .frequency = LU_NOT_GIVEN,
                          .rotate = LU_NOT_GIVEN,
                          .rotate_keep = LU_NOT_GIVEN,
                          .batch = LU_NOT_GIVEN,
                          .table_memory = LU_TABLES_BUDGET >> 20,
                          .fail_on_loss = -1,
                          .capture_fd = -1,
                          .event_fd = -1,
                          .kallsyms_fd = -1 };
  self->options.helper = (LuHelperOptions){ .capture_fd = -1, .event_fd = -1, .kallsyms_fd = -1 };
}

void
lu_raw_options_clear (LuRawOptions *self)
{
  g_strfreev (self->pids);
  g_strfreev (self->tids);
  g_free (self->duration);
  g_free (self->call_graph);
  g_free (self->stack_size);
  g_free (self->engine);
  g_free (self->stats);
  g_free (self->debuginfod);
  g_free (self->window);
  g_free (self->interval);
  g_strfreev (self->command);
  g_strfreev (self->perf_fds);
}

/* The group copies the entries. */
static void
add_options (GOptionGroup *group, const Option *options, guint n, LuRawOptions *raw)
{
  g_autofree GOptionEntry *entries = g_new0 (GOptionEntry, n + 1);

  for (guint i = 0; i < n; i++)
    entries[i] = (GOptionEntry){ .long_name = options[i].name,
                                 .short_name = options[i].short_name,
                                 .flags = options[i].help == NULL && options[i].name[0] != 0
                                              ? G_OPTION_FLAG_HIDDEN
                                              : 0,
                                 .arg = options[i].type,
                                 .arg_data = (char *) raw + options[i].offset,
                                 .description = options[i].help,
                                 .arg_description = options[i].value };
  g_option_group_add_entries (group, entries);
  g_option_group_set_translation_domain (group, GETTEXT_PACKAGE);
}

GOptionContext *
lu_option_table_top_parser (LuRawOptions *raw)
{
  GOptionContext *context = g_option_context_new (_ ("[-- COMMAND ARGS…]"));
  GOptionGroup *group = g_option_group_new (NULL, NULL, NULL, NULL, NULL);

  add_options (group, top_options, G_N_ELEMENTS (top_options), raw);
  for (guint i = 0; i < G_N_ELEMENTS (shared_options); i++)
    for (guint k = 0; k < G_N_ELEMENTS (recording_options); k++)
      if (g_str_equal (recording_options[k].name, shared_options[i]))
        add_options (group, &recording_options[k], 1, raw);
  g_option_context_set_main_group (context, group);
  g_option_context_set_summary (
      context,
      _ ("Shows the functions of the last seconds live: of the whole machine, of processes "
         "or of COMMAND.\nKeys: q quits; f, p, t show functions, processes, threads; s "
         "sorts by total or self;\n/ filters; Enter shows callers, or what is in a "
         "process; Backspace goes back;\nSpace pauses; w writes the window as a capture."));
  return context;
}

GOptionContext *
lu_option_table_parser (LuRawOptions *raw)
{
  g_autofree char *suffixes = lu_format_suffixes ();
  g_autofree char *formats = g_strdup_printf (_ ("Formats of --output: %s"), suffixes);
  GOptionContext *context = g_option_context_new (_ ("[-- COMMAND ARGS…]"));
  GOptionGroup *main_group = g_option_group_new (NULL, NULL, NULL, NULL, NULL);
  GOptionGroup *helper_group = g_option_group_new (
      "helper", _ ("As Sysprof's helper (with --stack-size):"),
      _ ("Show the options that Sysprof's daemon passes to a helper"), NULL, NULL);

  add_options (main_group, recording_options, G_N_ELEMENTS (recording_options), raw);
  add_options (helper_group, helper_options, G_N_ELEMENTS (helper_options), raw);
  g_option_context_set_main_group (context, main_group);
  g_option_context_add_group (context, helper_group);
  g_option_context_set_summary (
      context,
      _ ("Samples programs, unwinds each stack live and writes a Sysprof capture.\n\n"
         "  live-unwinder [OPTIONS] -- COMMAND ARGS…   record a program from its start\n"
         "  live-unwinder [OPTIONS] --pid PID          record a running process\n"
         "  live-unwinder [OPTIONS] --all              record the whole system\n"
         "  live-unwinder top                          functions live in the terminal\n"
         "  live-unwinder report FILE                  where the time went\n"
         "  live-unwinder diff A B                     what changed\n"
         "  live-unwinder convert IN OUT               into another format\n"
         "  live-unwinder stacks --pid PID             what every thread does or waits for\n"
         "  live-unwinder debuginfo collect FILE DIR   its debug files, for other machines\n"
         "  live-unwinder tables FILE                  the unwind table of a file\n"
         "  live-unwinder doctor                       what works here, and what to do"));
  g_option_context_set_description (context, formats);
  return context;
}
