/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* convert.c - converts a recording to another format, frame by frame; see report.h.
 *
 * --redact reads a capture twice (redact.h); a pipe is copied to an unnamed file first. */

#include "config.h"

#include "report.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/printable.h"
#include "session/fetcher.h"
#include "profile/redact.h"
#include "replay.h"
#include "report-filter.h"
#include "report-print.h"
#include "rights.h"

#include <errno.h>
#include <stdio.h>

#define COPY_SIZE (256u << 10)

typedef struct
{
  char *format_name;        /* owned; NULL: given by the suffix of the output */
  char *mode;               /* value of --debuginfod, owned; NULL: the default */
  LuDebuginfod *debuginfod; /* owned; NULL: none are fetched */
  LuKallsymsFile *kallsyms; /* owned; for files of perf */
  gboolean force, redact, lines, inlines, full_names, folds, no_tail_calls, threads;
  LuReportFilter filter;
  const char *input, *output;
  guint64 kernel_start; /* see lu_format_kernel_start() */

  const LuFormat *format; /* NULL: a capture */
} Options;

/* The receiver of frames: one of the two. */
typedef struct
{
  LuExport *export;
  LuSyscapWriter *capture;
  GError *error; /* the first one */
} Target;

static gboolean
choose_format (Options *self, GError **error)
{
  g_autofree char *names = lu_format_names ();
  gboolean is_capture = self->format_name != NULL ? g_str_equal (self->format_name, "syscap")
                                                  : g_str_has_suffix (self->output, ".syscap");

  if (is_capture)
    return TRUE;
  self->format =
      self->format_name != NULL ? lu_format_find (self->format_name) : lu_format_of (self->output);
  if (self->format != NULL)
    return TRUE;
  if (self->format_name != NULL)
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                 _ ("unknown format \"%s\"; known formats: %s, syscap"), self->format_name, names);
  else
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                 _ ("%s: the suffix does not select a format; give --format, one of: %s, syscap"),
                 self->output, names);
  return FALSE;
}

static void
print_remark (const char *text)
{
  g_autofree char *printable = lu_printable (text, 0);

  lu_report_end_lines ();
  fprintf (stderr, "%s\n", printable);
}

static gboolean
filter (gpointer user_data, LuModel *model, GError **error)
{
  return lu_report_filter_apply (user_data, model, error);
}

/* Takes the descriptor. */
static LuExport *
new_export (const Options *self, int fd)
{
  LuExport *export = lu_export_new (self->format, fd);

  lu_export_add_flags (export, (self->full_names ? LU_MODEL_FULL_NAMES : 0u)
                                   | (self->no_tail_calls ? LU_MODEL_NO_TAIL_CALLS : 0u)
                                   | (self->threads ? LU_MODEL_THREADS : 0u)
                                   | (self->folds ? LU_MODEL_FOLD_RECURSION : 0u));
  lu_export_set_lines (
      export, (self->lines ? LU_MODEL_LINES : 0u) | (self->inlines ? LU_MODEL_INLINES : 0u),
      print_remark);
  lu_export_set_naming (export, self->debuginfod, NULL, NULL);
  lu_export_set_kernel_start (export, self->kernel_start);
  if (!lu_report_filter_is_empty (&self->filter))
    lu_export_set_filter (export, lu_report_filter_needs_times (&self->filter) ? LU_MODEL_TIMES : 0,
                          filter, (gpointer) &self->filter);
  return export;
}

/* Files of perf */

static gboolean
convert_perf_data (const Options *self, GError **error)
{
  LuReplayOptions options = { .redact = self->redact, .kallsyms = self->kallsyms };
  LuOutputs outputs = LU_OUTPUTS_INIT;
  int fd = lu_output_open (self->output, self->force, error);

  if (fd < 0)
    return FALSE;
  /* Other formats fetch on their own (new_export()). */
  options.debuginfod = self->format == NULL ? self->debuginfod : NULL;
  if (self->format == NULL)
    outputs.capture_fd = fd;
  else
    {
      outputs.tee = lu_tee_new ();
      lu_tee_add (outputs.tee, new_export (self, fd));
    }
  if (lu_replay_convert (self->input, &options, &outputs, error))
    return TRUE;
  lu_output_discard (self->output);
  return FALSE;
}

/* Captures */

static int
fail_errno (const char *path, GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
  return -1;
}

/* Copies a pipe to an unnamed file that can be read twice; takes the descriptor. */
static int
keep_stream (int fd_taken, const char *path, GError **error)
{
  lu_autofd fd = fd_taken;
  lu_autofd kept = open (g_get_tmp_dir (), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  g_autofree char *buffer = g_malloc (COPY_SIZE);
  gssize n;

  if (kept < 0)
    return fail_errno (g_get_tmp_dir (), error);
  while ((n = read (fd, buffer, COPY_SIZE)) != 0)
    if ((n < 0 && errno != EINTR) || (n > 0 && !lu_fd_write_all (kept, buffer, (gsize) n)))
      return fail_errno (path, error);
  return lu_fd_steal (&kept);
}

static int
open_input (const Options *self, GError **error)
{
  int fd = lu_fd_open_input (self->input);

  if (fd < 0)
    return fail_errno (self->input, error);
  return self->redact && lseek (fd, 0, SEEK_SET) < 0 ? keep_stream (fd, self->input, error) : fd;
}

/* Returns a reader from the beginning, or from here if the file cannot be sought. */
static LuSyscapReader *
new_reader (int fd, const char *path, GError **error)
{
  int copy = lu_fd_duplicate (fd);
  LuSyscapReader *reader;

  lseek (copy, 0, SEEK_SET);
  reader = lu_syscap_reader_new (copy, error);
  if (reader == NULL)
    g_prefix_error (error, "%s: ", path);
  return reader;
}

static void
take (const LuSyscapRecord *record, gpointer user_data)
{
  Target *target = user_data;

  if (target->export != NULL)
    lu_export_take (target->export, record);
  else if (target->error == NULL)
    lu_syscap_copy_frame (target->capture, record, &target->error);
}

static gboolean
read_all (LuSyscapReader *reader, LuRedactionFunc func, gpointer user_data, GError **error)
{
  LuSyscapRecord record;
  LuSyscapRead what;

  while ((what = lu_syscap_reader_next (reader, &record, error)) == LU_SYSCAP_READ_FRAME)
    func (&record, user_data);
  return what == LU_SYSCAP_READ_END;
}

static void
learn (const LuSyscapRecord *record, gpointer user_data)
{
  lu_redaction_learn (user_data, record);
}

static void
redact (const LuSyscapRecord *record, gpointer user_data)
{
  lu_redaction_take (user_data, record);
}

static gboolean
copy_redacted (const Options *self, int fd, Target *target, GError **error)
{
  g_autoptr (LuRedaction) redaction = lu_redaction_new (take, target);
  g_autoptr (LuSyscapReader) first = new_reader (fd, self->input, error);
  g_autoptr (LuSyscapReader) second = NULL;

  if (first == NULL || !read_all (first, learn, redaction, error))
    return FALSE;
  second = new_reader (fd, self->input, error);
  if (second == NULL)
    return FALSE;
  lu_redaction_begin (redaction);
  if (!read_all (second, redact, redaction, error))
    return FALSE;
  lu_redaction_end (redaction);
  return TRUE;
}

static gboolean
begin_target (Target *target, const Options *self, const LuSyscapHeader *header, GError **error)
{
  g_autoptr (GTimeZone) utc = g_time_zone_new_utc ();
  g_autofree char *text = g_strndup (header->capture_time, sizeof header->capture_time);
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (text, utc);
  int fd = lu_output_open (self->output, self->force, error);

  if (fd < 0)
    return FALSE;
  if (self->format == NULL)
    {
      target->capture = lu_syscap_writer_new (fd);
      return lu_syscap_writer_header (
          target->capture, (guint64) MAX (header->time, 0),
          date != NULL ? g_date_time_to_unix (date) * G_USEC_PER_SEC : 0, error);
    }
  target->export = new_export (self, fd);
  lu_export_begin (target->export, header);
  return TRUE;
}

static gboolean
end_export (const Options *self, LuExport *export, GError **error)
{
  gboolean has_lines = self->lines || self->inlines, ok;

  if (has_lines)
    lu_report_begin_lines ();
  ok = lu_export_end (export, error);
  if (has_lines)
    lu_report_end_lines ();
  return ok;
}

static gboolean
end_target (Target *target, const Options *self, const LuSyscapHeader *header, GError **error)
{
  if (target->export != NULL)
    return end_export (self, target->export, error);
  if (target->error == NULL)
    return lu_syscap_writer_finish (target->capture, (guint64) MAX (header->end_time, 0), error);
  g_propagate_error (error, g_steal_pointer (&target->error));
  return FALSE;
}

static gboolean
convert_capture (const Options *self, int fd, GError **error)
{
  g_autoptr (LuSyscapReader) reader = new_reader (fd, self->input, error);
  Target target = { 0 };
  gboolean ok;

  if (reader == NULL)
    return FALSE;
  ok = begin_target (&target, self, lu_syscap_reader_header (reader), error)
       && (self->redact ? copy_redacted (self, fd, &target, error)
                        : read_all (reader, take, &target, error))
       && end_target (&target, self, lu_syscap_reader_header (reader), error);
  if (!ok && (target.export != NULL || target.capture != NULL))
    lu_output_discard (self->output);
  lu_export_free (target.export);
  lu_syscap_writer_free (target.capture);
  g_clear_error (&target.error);
  return ok;
}

static gboolean
run (Options *self, GError **error)
{
  gboolean is_perf_data = lu_replay_is_perf_data (self->input);
  lu_autofd fd = -1;

  if (!choose_format (self, error))
    return FALSE;
  if (!lu_report_filter_is_empty (&self->filter)
      && (self->format == NULL || self->format->write == NULL))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("%s: samples can be selected for every format but syscap and perf"),
                   self->output);
      return FALSE;
    }
  if (self->format == NULL && !self->redact && !is_perf_data)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("%s: converting a capture to a capture changes nothing without --redact"),
                   self->output);
      return FALSE;
    }
  if (!lu_fetcher_start_for_reader (self->mode, &self->debuginfod, error))
    return FALSE;
  if (is_perf_data)
    self->kallsyms = lu_kallsyms_file_open ();
  else if ((fd = open_input (self, error)) < 0)
    return FALSE;
  self->kernel_start = lu_format_kernel_start ();
  lu_report_give_up_rights (self->output, is_perf_data);
  return is_perf_data ? convert_perf_data (self, error) : convert_capture (self, fd, error);
}

gboolean
lu_convert_main (int argc, char **argv, GError **error)
{
  Options options = { 0 };
  g_autofree char *names = lu_format_names ();
  g_autofree char *format_help =
      g_strdup_printf (_ ("%s or syscap, if the suffix of OUT selects none"), names);
  const GOptionEntry entries[] = {
    { "format", 0, 0, G_OPTION_ARG_STRING, &options.format_name, format_help, N_ ("NAME") },
    { "lines", 0, 0, G_OPTION_ARG_NONE, &options.lines,
      N_ ("Add source lines from debug information"), NULL },
    { "inlines", 0, 0, G_OPTION_ARG_NONE, &options.inlines,
      N_ ("Show inlined functions, from debug information"), NULL },
    { "full-names", 0, 0, G_OPTION_ARG_NONE, &options.full_names,
      N_ ("Show names with return types, parameters and all template arguments"), NULL },
    { "no-tail-calls", 0, 0, G_OPTION_ARG_NONE, &options.no_tail_calls,
      N_ ("Do not show functions that ended with a tail call"), NULL },
    { "fold-recursion", 0, 0, G_OPTION_ARG_NONE, &options.folds,
      N_ ("In folded stacks and pages: show a function and its calls of itself as one"), NULL },
    { "threads", 0, 0, G_OPTION_ARG_NONE, &options.threads,
      N_ ("In folded stacks and pages: show the name of each thread below its program"), NULL },
    { "force", 'f', 0, G_OPTION_ARG_NONE, &options.force, N_ ("Overwrite an existing file"), NULL },
    { "redact", 0, 0, G_OPTION_ARG_NONE, &options.redact,
      N_ ("Leave out program arguments, host names and kernel addresses"), NULL },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &options.mode, LU_FETCHER_HELP, LU_FETCHER_CHOICE },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("IN OUT - a recording in another format"));
  gboolean ok;

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  lu_report_filter_add_options (&options.filter, context);
  ok = g_option_context_parse (context, &argc, &argv, error);
  if (ok && argc != 3)
    {
      g_set_error_literal (
          error, LU_ERROR, LU_ERROR_INVALID,
          _ ("Usage: live-unwinder convert [--format NAME] [--force] [--redact] IN OUT"));
      ok = FALSE;
    }
  if (ok)
    {
      options.input = argv[1];
      options.output = argv[2];
      ok = run (&options, error);
    }
  if (ok)
    lu_fetcher_print_summary (options.debuginfod);
  lu_debuginfod_free (options.debuginfod);
  lu_kallsyms_file_unref (options.kallsyms);
  lu_report_filter_clear (&options.filter);
  g_free (options.mode);
  g_free (options.format_name);
  return ok;
}
