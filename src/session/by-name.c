/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* by-name.c - finds processes by name in /proc; see by-name.h.
 *
 * A process may end or change its name at any moment, so what could not be read is left out. */

#include "by-name.h"

#include "base/fd.h"
#include "process/labels.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of arguments; only the first word matters. */
#define MAX_ARGUMENTS 4096

/* Names of one process, owned. */
typedef struct
{
  pid_t pid;
  char *program, *comm; /* of the arguments; of the kernel */
} Named;

static void
named_free (gpointer pointer)
{
  Named *self = pointer;

  g_free (self->program);
  g_free (self->comm);
  g_free (self);
}

static char *
read_of (pid_t pid, const char *name, gsize *length)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) pid, name);

  return lu_fd_read_file (path, MAX_ARGUMENTS, length);
}

/* Whether it has ended, but is still listed (proc_pid_stat(5): the state follows the name). */
static gboolean
has_ended (pid_t pid)
{
  g_autofree char *text = read_of (pid, "stat", NULL);
  const char *after = text != NULL ? strrchr (text, ')') : NULL;

  return after == NULL || g_str_has_prefix (after, ") Z") || g_str_has_prefix (after, ") X");
}

static void
add_process (GPtrArray *processes, pid_t pid)
{
  gsize length = 0;
  g_autofree char *arguments = read_of (pid, "cmdline", &length);
  g_autofree char *comm = read_of (pid, "comm", NULL);
  Named *named;

  if (arguments == NULL || comm == NULL || has_ended (pid))
    return;
  for (gsize i = 0; i < length; i++)
    if (arguments[i] == 0)
      arguments[i] = ' ';
  named = g_new0 (Named, 1);
  named->pid = pid;
  named->comm = g_strdup (g_strchomp (comm));
  named->program =
      lu_labels_program (&(LuLabels){ .command_line = length > 0 ? arguments : named->comm });
  g_ptr_array_add (processes, named);
}

/* Returns all processes but this one, of Named. */
static GPtrArray *
list_processes (void)
{
  GPtrArray *processes = g_ptr_array_new_with_free_func (named_free);
  DIR *dir = opendir ("/proc");

  if (dir == NULL)
    return processes;
  for (struct dirent *entry = readdir (dir); entry != NULL; entry = readdir (dir))
    {
      pid_t pid = (pid_t) strtol (entry->d_name, NULL, 10);

      if (pid > 0 && pid != getpid ())
        add_process (processes, pid);
    }
  closedir (dir);
  return processes;
}

static gboolean
contains (const char *text, const char *part)
{
  g_autofree char *folded = g_ascii_strdown (text, -1);

  return strstr (folded, part) != NULL;
}

static void
add_matches (const GPtrArray *processes, const char *name, gboolean is_part, GArray *pids)
{
  g_autofree char *part = g_ascii_strdown (name, -1);

  for (guint i = 0; i < processes->len; i++)
    {
      const Named *process = g_ptr_array_index (processes, i);
      gboolean matches =
          is_part ? contains (process->program, part) || contains (process->comm, part)
                  : strcmp (process->program, name) == 0 || strcmp (process->comm, name) == 0;
      gboolean is_new = TRUE;

      for (guint k = 0; k < pids->len; k++)
        is_new &= g_array_index (pids, pid_t, k) != process->pid;
      if (matches && is_new)
        g_array_append_val (pids, process->pid);
    }
}

GArray *
lu_find_by_name (char **names)
{
  g_autoptr (GPtrArray) processes = list_processes ();
  GArray *pids = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (guint i = 0; names[i] != NULL; i++)
    {
      guint before = pids->len;

      add_matches (processes, names[i], FALSE, pids);
      if (pids->len == before)
        add_matches (processes, names[i], TRUE, pids);
    }
  return pids;
}
