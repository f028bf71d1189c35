/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* convert.c - a capture frame by frame into another format; see convert.h. */

#include "convert.h"

#include "base/error.h"
#include "base/fd.h"
#include "output/format.h"
#include "output/output-file.h"
#include "report-lines.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

static const char perf_magic[] = "PERFILE2";

gboolean
lu_convert_is_perf_data (const char *path)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  char start[sizeof perf_magic - 1];

  return fd >= 0 && lu_fd_pread_all (fd, start, sizeof start, 0) == sizeof start
         && memcmp (start, perf_magic, sizeof start) == 0;
}

static const LuFormat *
choose_format (const char *output, const char *name, GError **error)
{
  const LuFormat *format = name != NULL ? lu_format_find (name) : lu_format_of (output);
  g_autofree char *names = lu_format_names ();

  if (format != NULL)
    return format;
  if (name != NULL)
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("there is no format \"%s\"; there is: %s"),
                 name, names);
  else
    g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                 _ ("%s: the name does not tell a format; give --format, one of: %s"), output,
                 names);
  return NULL;
}

static LuSyscapReader *
open_capture (const char *path, GError **error)
{
  int fd = g_str_equal (path, "-") ? fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                   : open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  LuSyscapReader *reader;

  if (fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "%s: %s", path, g_strerror (errno));
      return NULL;
    }
  reader = lu_syscap_reader_new (fd, error);
  if (reader == NULL)
    g_prefix_error (error, "%s: ", path);
  return reader;
}

static gboolean
copy (LuSyscapReader *reader, LuExport *export, gboolean has_lines, GError **error)
{
  LuSyscapRecord record;
  LuSyscapRead what;
  gboolean ok;

  lu_export_begin (export, lu_syscap_reader_header (reader));
  while ((what = lu_syscap_reader_next (reader, &record, error)) == LU_SYSCAP_READ_FRAME)
    lu_export_take (export, &record);
  if (what != LU_SYSCAP_READ_END)
    return FALSE;
  if (has_lines)
    lu_report_begin_lines ();
  ok = lu_export_end (export, error);
  if (has_lines)
    lu_report_end_lines ();
  return ok;
}

static void
print_remark (const char *text)
{
  lu_report_end_lines ();
  fprintf (stderr, "%s\n", text);
}

gboolean
lu_convert_run (const LuConversion *self, GError **error)
{
  const LuFormat *format = choose_format (self->output, self->format, error);
  g_autoptr (LuSyscapReader) reader = format != NULL ? open_capture (self->input, error) : NULL;
  g_autoptr (LuExport) export = NULL;
  int fd;

  if (reader == NULL)
    return FALSE;
  fd = lu_output_open (self->output, self->force, error);
  if (fd < 0)
    return FALSE;
  export = lu_export_new (format, fd);
  lu_export_set_lines (export, self->lines, print_remark);
  lu_export_set_debuginfod (export, self->debuginfod);
  if (copy (reader, export, self->lines != 0, error))
    return TRUE;
  lu_output_discard (self->output);
  return FALSE;
}
