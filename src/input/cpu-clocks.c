/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cpu-clocks.c - CPU time from perf's counters, the processes' accounts and /proc/stat; see
 * cpu-clocks.h.
 *
 * The kernel takes a task's counters away before it takes its memory apart (do_exit()), so they
 * miss the end of every task: up to a fifth of a storm of short processes. The account of a process
 * has all of it, but includes a child only once it was waited for, and then also what the child
 * used before the recording. The summary decides by both. */

#include "cpu-clocks.h"

#include "base/clock.h"
#include "base/fd.h"
#include "perf-event.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

typedef struct
{
  pid_t pid, parent;
  guint64 first, last; /* accounts at the start and at the last look, ns; 0: it was not there */
} Process;

struct _LuCpuClocks
{
  GArray *fds; /* array of int, owned */
  gboolean all, from_exec, stopped;
  guint64 busy_at_start, busy_at_stop; /* of all CPUs together, ns; 0: not known */
  GArray *processes;                   /* array of Process */
  gboolean has_old_children;           /* the account of one got all that another one ever used */
  guint64 tasks_at_look; /* the tasks' clocks when a process was there the last time, ns */
};

static guint64
from_ticks (guint64 ticks)
{
  return ticks * (1000000000u / (guint64) sysconf (_SC_CLK_TCK));
}

/* Returns cutime and cstime of proc_pid_stat(5). parent: NULL: not wanted. */
static guint64
children_ns (pid_t pid, pid_t *parent)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = lu_fd_read_file (path, 2048, NULL);
  const char *end = text != NULL ? strrchr (text, ')') : NULL;
  unsigned long long user, system;
  int ppid;

  if (end == NULL
      || sscanf (end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu", &ppid,
                 &user, &system)
             != 3)
    return 0;
  if (parent != NULL)
    *parent = ppid;
  return from_ticks (user + system);
}

static guint64
account_of (pid_t pid, pid_t *parent)
{
  clockid_t clock;
  guint64 own = clock_getcpuclockid (pid, &clock) == 0 ? lu_clock_ns (clock) : 0;

  return own > 0 ? own + children_ns (pid, parent) : 0;
}

guint64
lu_cpu_clocks_of_process (pid_t pid)
{
  return account_of (pid, NULL);
}

/* Returns the time in ns for which all CPUs together were busy since the system started, or 0 if it
 * is unknown. */
static guint64
read_busy (void)
{
  lu_autofd fd = open ("/proc/stat", O_RDONLY | O_CLOEXEC);
  char text[512] = "";
  unsigned long long user, nice, system, idle, iowait, irq, softirq;

  if (fd < 0 || read (fd, text, sizeof text - 1) < 0
      || sscanf (text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                 &iowait, &irq, &softirq)
             != 7)
    return 0;
  return from_ticks (user + nice + system + irq + softirq);
}

static guint64
read_tasks (const LuCpuClocks *self)
{
  guint64 sum = 0, ns;

  for (guint i = 0; i < self->fds->len; i++)
    if (read (g_array_index (self->fds, int, i), &ns, sizeof ns) == sizeof ns)
      sum += ns;
  return sum;
}

static void
control (const LuCpuClocks *self, unsigned long request)
{
  for (guint i = 0; i < self->fds->len; i++)
    ioctl (g_array_index (self->fds, int, i), request, 0);
}

LuCpuClocks *
lu_cpu_clocks_new (const LuCpuClocksOptions *options, gboolean from_exec)
{
  LuCpuClocks *self = g_new0 (LuCpuClocks, 1);
  struct perf_event_attr attr;

  self->fds = lu_fd_array_new ();
  self->processes = g_array_new (FALSE, FALSE, sizeof (Process));
  self->all = options->all;
  self->from_exec = from_exec;
  lu_perf_task_clock_attr (&attr);
  attr.enable_on_exec = from_exec;
  for (guint i = 0; options->tasks != NULL && i < options->tasks->len; i++)
    {
      int fd = lu_perf_open (&attr, g_array_index (options->tasks, pid_t, i), -1);

      if (fd >= 0)
        g_array_append_val (self->fds, fd);
    }
  for (guint i = 0; options->processes != NULL && i < options->processes->len; i++)
    {
      Process process = { .pid = g_array_index (options->processes, pid_t, i) };

      g_array_append_val (self->processes, process);
    }
  return self;
}

void
lu_cpu_clocks_free (LuCpuClocks *self)
{
  g_array_unref (self->fds);
  g_array_unref (self->processes);
  g_free (self);
}

void
lu_cpu_clocks_start (LuCpuClocks *self)
{
  if (self->all && self->busy_at_start == 0)
    self->busy_at_start = read_busy ();
  if (!self->from_exec)
    control (self, PERF_EVENT_IOC_ENABLE);
  for (guint i = 0; i < self->processes->len; i++)
    {
      Process *process = &g_array_index (self->processes, Process, i);

      if (process->first == 0)
        process->first = process->last = account_of (process->pid, &process->parent);
    }
}

static gboolean
is_counted (const LuCpuClocks *self, pid_t pid)
{
  for (guint i = 0; i < self->processes->len; i++)
    if (g_array_index (self->processes, Process, i).pid == pid)
      return TRUE;
  return FALSE;
}

void
lu_cpu_clocks_look (LuCpuClocks *self)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->processes->len && !self->stopped; i++)
    {
      Process *process = &g_array_index (self->processes, Process, i);
      guint64 now = process->first > 0 ? lu_cpu_clocks_of_process (process->pid) : 0;

      self->has_old_children |=
          now == 0 && process->first > 0 && is_counted (self, process->parent);
      /* Less than before: another process has this pid now. */
      if (now == 0 || now < process->last)
        continue;
      process->last = now;
      any = TRUE;
    }
  if (any)
    self->tasks_at_look = read_tasks (self);
}

void
lu_cpu_clocks_stop (LuCpuClocks *self)
{
  if (self->all && !self->stopped)
    self->busy_at_stop = read_busy ();
  lu_cpu_clocks_look (self);
  control (self, PERF_EVENT_IOC_DISABLE);
  self->stopped = TRUE;
}

/* The time used since the last look, in which the processes ended, is judged by the share that the
 * clocks of tasks missed until then. */
static guint64
accounted_ns (const LuCpuClocks *self, guint64 tasks_ns)
{
  guint64 sum = 0;

  if (self->has_old_children)
    return 0;
  for (guint i = 0; i < self->processes->len; i++)
    {
      const Process *process = &g_array_index (self->processes, Process, i);

      sum += process->last - process->first;
    }
  if (self->tasks_at_look == 0)
    return sum;
  return (guint64) ((double) sum * (double) tasks_ns / (double) self->tasks_at_look);
}

void
lu_cpu_clocks_count (LuCpuClocks *self, LuCounters *counters)
{
  guint64 tasks_ns = read_tasks (self);

  if (self->busy_at_start > 0 && self->busy_at_stop > 0)
    tasks_ns = self->busy_at_stop - self->busy_at_start;
  lu_counters_set (counters, LU_COUNTER_TASK_CLOCK_NS, tasks_ns);
  lu_counters_set (counters, LU_COUNTER_ACCOUNTED_NS, accounted_ns (self, tasks_ns));
}
