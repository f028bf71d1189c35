/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.c - reads known.txt; see known.h. */

#include "known.h"

#include <gio/gio.h>
#include <string.h>

#define N_FIELDS 6 /* the last one is the reason */

struct _Known
{
  GPtrArray *lines; /* of char *[N_FIELDS + 1] */
};

static gboolean
add_line (Known *self, char *line, const char *path, GError **error)
{
  char **fields;

  g_strstrip (line);
  if (*line == '\0' || *line == '#')
    return TRUE;
  fields = g_strsplit (line, "|", N_FIELDS);
  g_ptr_array_add (self->lines, fields);
  for (guint i = 0; fields[i] != NULL; i++)
    g_strstrip (fields[i]);
  if (g_strv_length (fields) == N_FIELDS && *fields[N_FIELDS - 1] != '\0')
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s: no reason: %s", path, line);
  return FALSE;
}

Known *
known_load (const char *path, GError **error)
{
  g_autoptr (Known) self = g_new0 (Known, 1);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  self->lines = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  if (!g_file_get_contents (path, &text, NULL, error))
    return NULL;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (!add_line (self, lines[i], path, error))
      return NULL;
  return g_steal_pointer (&self);
}

void
known_free (Known *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->lines);
  g_free (self);
}

const char *
known_reason (const Known *self, const DeciderList *deciders, const Difference *difference)
{
  g_autofree char *rule = difference_rule (difference, deciders);
  const char *values[N_FIELDS - 1] = {
    deciders->at[difference->decider]->name,
    verdict_text (difference->verdict),
    difference->place->module->name,
    place_function (difference->place),
    rule,
  };

  for (guint i = 0; i < self->lines->len; i++)
    {
      char **line = self->lines->pdata[i];
      guint n = 0;

      while (n < G_N_ELEMENTS (values) && g_pattern_match_simple (line[n], values[n]))
        n++;
      if (n == G_N_ELEMENTS (values))
        return line[N_FIELDS - 1];
    }
  return NULL;
}
