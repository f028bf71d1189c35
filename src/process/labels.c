/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* labels.c - what a process is called; see labels.h. */

#include "labels.h"

#include <string.h>

/* Names may have slashes, too: those of kernel threads ("ksoftirqd/0", "kworker/u8:2"), and those
 * that programs give themselves ("a/b: waiting"). */
static gboolean
is_a_name (const char *word, const char *slash)
{
  return word[0] != '/'
         && (g_ascii_isdigit (slash[1]) || g_str_has_prefix (word, "kworker/")
             || g_str_has_suffix (word, ":"));
}

char *
lu_labels_program (const LuLabels *self)
{
  gsize length = strcspn (self->command_line, " ");
  g_autofree char *word = g_strndup (self->command_line, length);
  const char *slash = strrchr (word, '/');

  if (length == 0)
    return g_strdup ("?");
  if (slash == NULL || is_a_name (word, slash))
    return g_steal_pointer (&word);
  return g_path_get_basename (word);
}
