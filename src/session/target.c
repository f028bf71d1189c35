/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* target.c - finds the targets and opens events on them; see target.h. */

#include "config.h"

#include "target.h"

#include "base/error.h"
#include "base/fd.h"
#include "input/source-perf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* CPU time is counted with one descriptor per running thread, but not for more threads than this.
 */
#define MAX_CLOCKS 16
/* Threads may appear while the events of others are opened, so the list is read again, at most this
 * often. */
#define MAX_RESCANS 8
/* How often --wait looks for a process. */
#define WAIT_US (50 * 1000)

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

/* Returns whether it has ended but is still listed (proc_pid_stat(5): the state follows the name).
 */
static gboolean
has_ended (pid_t pid)
{
  g_autofree char *text = read_of (pid, "stat", NULL);
  const char *after = text != NULL ? strrchr (text, ')') : NULL;

  return after == NULL || g_str_has_prefix (after, ") Z") || g_str_has_prefix (after, ") X");
}

static void
read_names (GPtrArray *processes, pid_t pid)
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
        read_names (processes, pid);
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

/* Returns the processes (pid_t) whose program or kernel name is one of `names`; if no process has a
 * name, those whose name contains it, in upper or lower case. Never this process, and none that has
 * ended: what could not be read is left out. Owned by the caller; may be empty. */
static GArray *
find_by_name (char **names)
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

static gboolean
fail_gone (pid_t id, gboolean is_thread, GError **error)
{
  g_set_error (error, LU_ERROR, LU_ERROR_NO_PROCESS,
               is_thread ? _ ("there is no thread %d (any more)")
                         : _ ("there is no process %d (any more)"),
               (int) id);
  return FALSE;
}

static void
add_threads (GArray *threads, pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task", (int) pid);
  DIR *dir = opendir (path);

  if (dir == NULL)
    return;
  for (struct dirent *entry = readdir (dir); entry != NULL; entry = readdir (dir))
    {
      pid_t tid = (pid_t) strtol (entry->d_name, NULL, 10);

      if (tid > 0)
        g_array_append_val (threads, tid);
    }
  closedir (dir);
}

/* Side-band records and /proc must number processes alike. */
static gboolean
check_proc (GError **error)
{
  char target[64] = "";

  if (readlink ("/proc/self", target, sizeof target - 1) > 0
      && strtol (target, NULL, 10) == getpid ())
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                       _ ("/proc is missing or belongs to another pid namespace: mount this one's "
                          "(mount -t proc proc /proc, or unshare --mount-proc)"));
  return FALSE;
}

static GArray *
list_threads (GArray *pids)
{
  GArray *threads = g_array_new (FALSE, FALSE, sizeof (pid_t));

  for (guint i = 0; i < pids->len; i++)
    add_threads (threads, g_array_index (pids, pid_t, i));
  return threads;
}

/* Returns the process that a thread belongs to, 0 if it is gone. */
static pid_t
process_of (pid_t tid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int) tid);
  g_autofree char *text = lu_fd_read_file (path, 4096, NULL);
  const char *line = text != NULL ? strstr (text, "\nTgid:") : NULL;

  return line != NULL ? (pid_t) strtol (line + strlen ("\nTgid:"), NULL, 10) : 0;
}

/* Leaves out a process of a list that is gone, and says so. FALSE: it was the only one. */
static gboolean
leave_out (const LuOptions *options, const GArray *all, pid_t id, GError **error)
{
  gboolean is_thread = all == options->tids;
  g_autoptr (GError) failure = NULL;

  fail_gone (id, is_thread, &failure);
  if (all->len > 1 && !options->quiet)
    fprintf (stderr, "live-unwinder: %s\n", failure->message);
  if (all->len == 1)
    g_propagate_error (error, g_steal_pointer (&failure));
  return all->len > 1;
}

static gboolean
add_process (LuTarget *self, const LuOptions *options, pid_t pid, const LuPerfAbilities *abilities,
             GError **error)
{
  gboolean is_ours = kill (pid, 0) == 0;

  if (!is_ours && errno != EPERM)
    return leave_out (options, options->pids, pid, error);
  if (is_ours || abilities->cpu_wide)
    {
      g_array_append_val (self->pids, pid);
      return TRUE;
    }
  g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION,
               _ ("process %d belongs to another user: run live-unwinder as root "
                  "(sudo live-unwinder --pid %d)"),
               (int) pid, (int) pid);
  return FALSE;
}

static gboolean
add_thread (LuTarget *self, const LuOptions *options, pid_t tid, GError **error)
{
  pid_t pid = process_of (tid);

  if (pid == 0)
    return leave_out (options, options->tids, tid, error);
  g_array_append_val (self->pids, pid);
  g_array_append_val (self->tids, tid);
  return TRUE;
}

/* Waits for a process if the options ask for it, but only until a signal comes. Owned by the
 * caller. */
static GArray *
wait_for_names (const LuOptions *options)
{
  GArray *found = find_by_name (options->names);

  if (found->len == 0 && options->wait && !options->quiet)
    {
      g_autofree char *names = g_strjoinv (", ", options->names);

      fprintf (stderr, _ ("live-unwinder: waiting for a process named %s\n"), names);
    }
  while (found->len == 0 && options->wait && lu_signals_came () == 0)
    {
      g_usleep (WAIT_US);
      g_array_unref (found);
      found = find_by_name (options->names);
    }
  return found;
}

/* Some of the processes may belong to other users, or may have ended. */
static gboolean
add_named (LuTarget *self, const LuOptions *options, const LuPerfAbilities *abilities,
           GError **error)
{
  g_autoptr (GArray) found = wait_for_names (options);
  g_autofree char *names = g_strjoinv (", ", options->names);

  for (guint i = 0; i < found->len; i++)
    {
      pid_t pid = g_array_index (found, pid_t, i);

      if (abilities->cpu_wide || kill (pid, 0) == 0)
        g_array_append_val (self->pids, pid);
    }
  if (self->pids->len > 0)
    return TRUE;
  if (found->len > 0)
    g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION,
                 _ ("the processes named %s belong to another user: run live-unwinder as root "
                    "(sudo live-unwinder --name …)"),
                 names);
  else
    g_set_error (error, LU_ERROR, LU_ERROR_NO_PROCESS,
                 options->outputs != NULL ? _ ("there is no process named %s; --wait waits for one")
                                          : _ ("there is no process named %s"),
                 names);
  return FALSE;
}

static gboolean
find_processes (LuTarget *self, const LuOptions *options, const LuCommand *command,
                const LuPerfAbilities *abilities, GError **error)
{
  if (options->all)
    return TRUE;
  self->pids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  if (command->pid > 0)
    g_array_append_val (self->pids, command->pid);
  if (options->names != NULL)
    return add_named (self, options, abilities, error);
  for (guint i = 0; options->pids != NULL && i < options->pids->len; i++)
    if (!add_process (self, options, g_array_index (options->pids, pid_t, i), abilities, error))
      return FALSE;
  if (options->tids != NULL)
    self->tids = g_array_new (FALSE, FALSE, sizeof (pid_t));
  for (guint i = 0; options->tids != NULL && i < options->tids->len; i++)
    if (!add_thread (self, options, g_array_index (options->tids, pid_t, i), error))
      return FALSE;
  if (self->pids->len > 0)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_NO_PROCESS,
                       options->tids != NULL ? _ ("none of the threads exists (any more)")
                                             : _ ("none of the processes exists (any more)"));
  return FALSE;
}

static gboolean
same_ids (GArray *a, GArray *b)
{
  return a->len == b->len && memcmp (a->data, b->data, a->len * sizeof (pid_t)) == 0;
}

/* Opens per-task events on all threads; starts again if threads appeared in the meantime. */
static LuSource *
open_per_task (LuTarget *self, const LuOptions *options, const LuPerfAbilities *abilities,
               LuPerfSourceOptions *source_options, GError **error)
{
  for (guint i = 0;; i++)
    {
      g_autoptr (GArray) before =
          self->tids != NULL ? g_array_ref (self->tids) : list_threads (self->pids);
      g_autoptr (GArray) after = NULL;
      g_autoptr (LuSource) source = NULL;

      source_options->tasks = before;
      source = lu_source_perf_new (abilities, source_options, error);
      after = self->tids != NULL ? g_array_ref (self->tids) : list_threads (self->pids);
      if (source == NULL || same_ids (before, after) || i >= MAX_RESCANS)
        return g_steal_pointer (&source);
    }
}

static LuSource *
refuse (int saved_errno, gboolean cpu_wide, GError **error)
{
  g_autofree char *help = lu_perf_explain (saved_errno, cpu_wide);

  g_set_error (error, LU_ERROR, LU_ERROR_PERMISSION, _ ("perf events cannot be used: %s\n%s"),
               g_strerror (saved_errno), help);
  g_strchomp ((*error)->message);
  return NULL;
}

LuSource *
lu_target_open (LuTarget *self, const LuOptions *options, const LuCommand *command,
                guint32 stack_size, GError **error)
{
  LuPerfSourceOptions source_options = { .frequency = options->frequency,
                                         .stack_size = stack_size,
                                         .has_copies_only = options->kernel_walks.wanted
                                                            == LU_KERNEL_WALKS_NEVER };
  g_autoptr (GArray) clock_tasks = NULL;
  LuPerfAbilities abilities;

  lu_perf_probe (&abilities);
  if (!check_proc (error))
    return NULL;
  if (!find_processes (self, options, command, &abilities, error))
    return NULL;
  if (abilities.error != 0)
    return refuse (abilities.error, options->all, error);
  if (options->all && !abilities.cpu_wide)
    return refuse (EACCES, TRUE, error);
  if (self->tids != NULL)
    clock_tasks = g_array_ref (self->tids);
  else if (self->pids != NULL)
    clock_tasks = list_threads (self->pids);
  if (clock_tasks != NULL && clock_tasks->len <= MAX_CLOCKS)
    source_options.clocks.tasks = clock_tasks;
  source_options.clocks.all = options->all;
  /* wait4() says more of COMMAND. */
  if (abilities.cpu_wide && options->tids == NULL && command->pid == 0)
    source_options.clocks.processes = self->pids;
  if (abilities.cpu_wide)
    return lu_source_perf_new (&abilities, &source_options, error);
  source_options.enable_on_exec = command->pid > 0;
  return open_per_task (self, options, &abilities, &source_options, error);
}

void
lu_target_clear (LuTarget *self)
{
  g_clear_pointer (&self->pids, g_array_unref);
  g_clear_pointer (&self->tids, g_array_unref);
}
