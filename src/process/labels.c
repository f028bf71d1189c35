/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* labels.c - what a process is called; see labels.h. */

#include "labels.h"

#include "thread-names.h"

#include <string.h>

/* Names may have slashes, too: those of kernel threads ("ksoftirqd/0", "kworker/u8:2"), and those
 * that programs give themselves ("a/b: waiting"). */
static gboolean
is_a_name (const char *word, const char *slash)
{
  return word[0] != '/' && (g_ascii_isdigit (slash[1]) || g_str_has_prefix (word, "kworker/"));
}

/* Removes the colon of a title that a program gave itself ("nginx: worker process"). */
static gboolean
cut_title (char *word, gsize length)
{
  if (length < 2 || word[length - 1] != ':')
    return FALSE;
  word[length - 1] = 0;
  return TRUE;
}

char *
lu_labels_program (const LuLabels *self)
{
  gsize length = strcspn (self->command_line, " ");
  g_autofree char *word = g_strndup (self->command_line, length);
  gboolean is_title = cut_title (word, length);
  const char *slash = strrchr (word, '/');

  if (length == 0)
    return g_strdup ("?");
  if (slash == NULL || (is_title && word[0] != '/') || is_a_name (word, slash))
    return g_steal_pointer (&word);
  return g_path_get_basename (word);
}

gboolean
lu_labels_thread_is_program (const char *program, const char *thread)
{
  return thread[0] == 0 || strncmp (program, thread, LU_COMM_SIZE - 1) == 0;
}
