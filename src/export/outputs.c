/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* outputs.c - opens the files of a recording together; see outputs.h.
 *
 * The name of a period's file contains the time at which the period begins, in UTC, before the
 * suffix. Such names sort by time and do not collide with those of an earlier recording. */

#include "outputs.h"

#include "base/error.h"
#include "base/fd.h"

#include <glib/gi18n.h>

#define MAX_COPIES 1000

static void
remember (LuOutputs *self, const char *path)
{
  guint n = self->paths != NULL ? g_strv_length (self->paths) : 0;

  self->paths = g_renew (char *, self->paths, n + 2);
  self->paths[n] = g_strdup (path);
  self->paths[n + 1] = NULL;
}

typedef enum
{
  NEW, /* a file that does not exist */
  ANY,
  REPLACED
} Place;

static gboolean
add (LuOutputs *self, const char *path, Place place, GError **error)
{
  guint number = self->paths != NULL ? g_strv_length (self->paths) : 0;
  const LuFormat *format = lu_format_of (path);
  LuExport *export;
  int fd;

  if (format == NULL && self->capture_fd >= 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("%s: only one of the outputs can be a capture"), path);
      return FALSE;
    }
  fd = place == NEW ? lu_output_directories_create (self->directories, number, path, error)
                    : lu_output_open (path, place == REPLACED, error);
  if (fd < 0)
    return FALSE;
  remember (self, path);
  if (format == NULL)
    {
      self->capture_fd = fd;
      return TRUE;
    }
  if (self->tee == NULL)
    self->tee = lu_tee_new ();
  export = lu_export_new (format, fd);
  lu_export_add_flags (export, self->model_flags);
  lu_export_set_lines (export, self->lines, self->remark);
  lu_export_set_naming (export, self->debuginfod, self->go_on, self->go_on_data);
  lu_tee_add (self->tee, export);
  return TRUE;
}

static gboolean
add_all (LuOutputs *self, char *const *paths, Place place, GError **error)
{
  for (guint i = 0; paths[i] != NULL; i++)
    if (!add (self, paths[i], place, error))
      {
        lu_outputs_discard (self);
        lu_outputs_clear (self);
        return FALSE;
      }
  return TRUE;
}

gboolean
lu_outputs_open (LuOutputs *self, char *const *paths, gboolean force, GError **error)
{
  return add_all (self, paths, force ? REPLACED : ANY, error);
}

gboolean
lu_outputs_open_at (LuOutputs *self, char *const *paths, gint64 wall_clock, GError **error)
{
  for (guint copy = 1;; copy++)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
      g_autoptr (GError) failure = NULL;

      for (guint i = 0; paths[i] != NULL; i++)
        g_ptr_array_add (names, lu_outputs_name_at (paths[i], wall_clock, copy));
      g_ptr_array_add (names, NULL);
      if (add_all (self, (char *const *) names->pdata, NEW, &failure))
        return TRUE;
      if (!g_error_matches (failure, LU_ERROR, LU_ERROR_EXISTS) || copy >= MAX_COPIES)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
    }
}

void
lu_outputs_discard (const LuOutputs *self)
{
  for (guint i = 0; self->paths != NULL && self->paths[i] != NULL; i++)
    if (self->directories != NULL)
      lu_output_directories_remove (self->directories, i, self->paths[i]);
    else
      lu_output_discard (self->paths[i]);
}

LuSink *
lu_outputs_take_sink (LuOutputs *self)
{
  LuSink *sink = lu_syscap_sink_new (lu_fd_steal (&self->capture_fd));

  if (self->debuginfod != NULL)
    lu_syscap_sink_set_debuginfod (sink, self->debuginfod);
  if (self->tee != NULL)
    lu_syscap_sink_take_tap (sink, &lu_tee_tap_ops, g_steal_pointer (&self->tee));
  return sink;
}

void
lu_outputs_clear (LuOutputs *self)
{
  g_clear_pointer (&self->paths, g_strfreev);
  lu_fd_clear (&self->capture_fd);
  g_clear_pointer (&self->tee, lu_tee_free);
}

/* Returns the suffix that selects the format, or the one after the last dot, or the end of the
 * path. */
static const char *
find_suffix (const char *path)
{
  const LuFormat *format = lu_format_of (path);
  const char *slash = strrchr (path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr (name, '.');
  gsize longest = 0;

  for (guint i = 0; format != NULL && format->suffixes[i] != NULL; i++)
    if (g_str_has_suffix (name, format->suffixes[i]))
      longest = MAX (longest, strlen (format->suffixes[i]));
  if (longest > 0)
    return path + strlen (path) - longest;
  return dot != NULL && dot > name ? dot : path + strlen (path);
}

char *
lu_outputs_name_at (const char *path, gint64 wall_clock, guint copy)
{
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (wall_clock / G_USEC_PER_SEC);
  g_autofree char *time = date != NULL ? g_date_time_format (date, "%Y%m%dT%H%M%SZ") : NULL;
  const char *suffix = find_suffix (path);
  gboolean has_stem = suffix > path && suffix[-1] != '/';
  g_autoptr (GString) name = g_string_new_len (path, suffix - path);

  g_string_append_printf (name, "%s%s", has_stem ? "-" : "", time != NULL ? time : "");
  if (copy > 1)
    g_string_append_printf (name, "-%u", copy);
  /* "perf.data" is both a whole name and a suffix */
  g_string_append_printf (name, "%s%s", suffix[0] != 0 && suffix[0] != '.' ? "." : "", suffix);
  return g_strdup (name->str);
}

gboolean
lu_outputs_can_rotate (char *const *paths, GError **error)
{
  for (guint i = 0; paths[i] != NULL; i++)
    {
      struct stat st;
      gboolean is_special =
          g_str_equal (paths[i], "-")
          || (stat (paths[i], &st) == 0 && (S_ISCHR (st.st_mode) || S_ISFIFO (st.st_mode)));

      if (!is_special)
        continue;
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
                   _ ("--rotate makes new files, so the output cannot be %s"),
                   g_str_equal (paths[i], "-") ? _ ("standard output") : paths[i]);
      return FALSE;
    }
  return TRUE;
}
