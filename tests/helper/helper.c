/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* helper.c - starts a helper with the command line of sysprofd 48 and watches it. */

#include "helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD 3

static void
add_fd (GPtrArray *argv, GArray *fds, const char *option, int fd, int cpu)
{
  int target = FIRST_FD + (int) fds->len;

  if (fd < 0)
    return;
  g_array_append_val (fds, fd);
  g_ptr_array_add (argv, cpu < 0 ? g_strdup_printf ("--%s=%d", option, target)
                                 : g_strdup_printf ("--%s=%d:%d", option, target, cpu));
}

static GPtrArray *
make_arguments (char **command, const PlayHandover *handover, GArray *fds)
{
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);

  for (; *command != NULL; command++)
    g_ptr_array_add (argv, g_strdup (*command));
  g_ptr_array_add (argv, g_strdup_printf ("--stack-size=%u", handover->stack_size));
  add_fd (argv, fds, "event-fd", handover->event_fd, -1);
  for (guint i = 0; i < handover->events->events->len; i++)
    {
      const PlayEvent *event = &g_array_index (handover->events->events, PlayEvent, i);

      add_fd (argv, fds, "perf-fd", event->fd, (int) event->cpu_number);
    }
  add_fd (argv, fds, "capture-fd", handover->capture_fd, -1);
  add_fd (argv, fds, "kallsyms", handover->kallsyms_fd, -1);
  g_ptr_array_add (argv, NULL);
  return argv;
}

/* Runs in the child: moves descriptors out of the way of the targets, then into place. */
static void
place_descriptors (GArray *fds)
{
  int null = open ("/dev/null", O_RDONLY);
  int high = FIRST_FD + (int) fds->len;

  dup2 (null, STDIN_FILENO);
  for (guint i = 0; i < fds->len; i++)
    g_array_index (fds, int, i) = fcntl (g_array_index (fds, int, i), F_DUPFD, high);
  for (guint i = 0; i < fds->len; i++)
    dup2 (g_array_index (fds, int, i), FIRST_FD + (int) i);
  closefrom (high);
}

/* The environment of a daemon, plus the variables that control sanitizers. */
static char **
make_environment (void)
{
  static const char *const kept[] = { "ASAN_OPTIONS", "UBSAN_OPTIONS",     "TSAN_OPTIONS",
                                      "LSAN_OPTIONS", "LLVM_PROFILE_FILE", "GCOV_PREFIX",
                                      "G_SLICE" };
  GPtrArray *environment = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if (g_getenv (kept[i]) != NULL)
      g_ptr_array_add (environment, g_strdup_printf ("%s=%s", kept[i], g_getenv (kept[i])));
  g_ptr_array_add (environment, g_strdup ("DBUS_STARTER_BUS_TYPE=system"));
  g_ptr_array_add (environment, NULL);
  return (char **) g_ptr_array_free (environment, FALSE);
}

void
play_helper_start (PlayHelper *self, char **command, const PlayHandover *handover)
{
  g_autoptr (GArray) fds = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GPtrArray) argv = make_arguments (command, handover, fds);
  g_auto (GStrv) environment = make_environment ();

  memset (self, 0, sizeof *self);
  self->pid = fork ();
  if (self->pid < 0)
    g_error ("fork: %s", g_strerror (errno));
  if (self->pid > 0)
    return;
  place_descriptors (fds);
  signal (SIGPIPE, SIG_DFL);
  execve (g_ptr_array_index (argv, 0), (char **) argv->pdata, environment);
  fprintf (stderr, "play: %s: %s\n", (char *) g_ptr_array_index (argv, 0), strerror (errno));
  _exit (127);
}

static void
read_status (PlayHelper *self)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int) self->pid);
  char line[256];
  FILE *file = fopen (path, "re");
  guint value;

  while (file != NULL && fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, "RssAnon: %u", &value) == 1)
      self->current.rss_anon_kib = value;
    else if (sscanf (line, "VmRSS: %u", &value) == 1)
      self->current.rss_kib = value;
    else if (sscanf (line, "VmHWM: %u", &value) == 1)
      self->peaks.rss_kib = MAX (self->peaks.rss_kib, value);
    else if (sscanf (line, "Threads: %u", &value) == 1)
      self->current.threads = value;
  if (file != NULL)
    fclose (file);
}

static void
raise_to (guint *peak, guint value)
{
  *peak = MAX (*peak, value);
}

void
play_helper_watch (PlayHelper *self)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd", (int) self->pid);
  guint n = 0;
  DIR *directory;

  if (self->has_ended)
    return;
  read_status (self);
  directory = opendir (path);
  if (directory == NULL)
    return;
  for (struct dirent *entry = readdir (directory); entry != NULL; entry = readdir (directory))
    n += entry->d_name[0] != '.';
  closedir (directory);
  self->current.descriptors = n;
  raise_to (&self->peaks.rss_anon_kib, self->current.rss_anon_kib);
  raise_to (&self->peaks.descriptors, n);
  raise_to (&self->peaks.threads, self->current.threads);
}

double
play_helper_get_cpu (const PlayHelper *self)
{
  struct timespec time;
  clockid_t clock;

  if (self->has_ended || clock_getcpuclockid (self->pid, &clock) != 0
      || clock_gettime (clock, &time) != 0)
    return 0;
  return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

static double
seconds_of (struct timeval time)
{
  return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

void
play_helper_wait (PlayHelper *self, guint timeout_ms)
{
  gint64 end = g_get_monotonic_time () + timeout_ms * 1000LL;
  struct rusage usage;
  pid_t done;

  while (!self->has_ended)
    {
      done = wait4 (self->pid, &self->status, WNOHANG, &usage);
      self->has_ended = done != 0;
      if (done == self->pid)
        self->cpu_seconds = seconds_of (usage.ru_utime) + seconds_of (usage.ru_stime);
      if (self->has_ended)
        break;
      if (g_get_monotonic_time () >= end && !self->was_killed)
        {
          self->was_killed = TRUE;
          kill (self->pid, SIGKILL);
        }
      g_usleep (500);
    }
}
