/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* follow.c - see follow.h.
 *
 * A thread that sleeps in a system call is not waited for: a timer interrupts the wait, and the
 * window ends. Thread and tracer share a CPU meanwhile, because each step is two context switches.
 */

#include "follow.h"

#include <errno.h>
#include <gio/gio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

/* How often the wait for a step is interrupted; a step that takes longer sleeps. */
#define PATIENCE_MS 100
/* Between two windows. */
#define FREE_MS 30
/* Steps after a window in which functions may return whose stacks were called wrong. */
#define MAX_MORE_STEPS 20000
#define REFRESH_STEPS  2048

#define PUSHF     0x9c
#define TRAP_FLAG 0x100

typedef struct
{
  pid_t tid;
  guint64 ticks;
} ThreadTime;

typedef struct
{
  pid_t pid;
  Whole *whole;
  TrialCount *count;
  Memory *memory;
  Comparison comparison;
  GHashTable *times; /* tid -> ticks at the last look */
  guint n_steps;     /* in this window */
} Follow;

/* The busiest thread */

static guint64
read_ticks (pid_t pid, const char *tid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%s/stat", pid, tid);
  g_autofree char *text = NULL;
  gulong user, system;
  const char *at;

  if (!g_file_get_contents (path, &text, NULL, NULL) || (at = strrchr (text, ')')) == NULL
      || sscanf (at + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user, &system)
             != 2)
    return 0;
  return user + system;
}

/* Returns 0 if there is no thread. */
static pid_t
find_busiest (Follow *self)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task", self->pid);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint64 most = 0;
  pid_t busiest = 0;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      pid_t tid = (pid_t) g_ascii_strtoull (name, NULL, 10);
      guint64 ticks = read_ticks (self->pid, name);
      guint64 before = GPOINTER_TO_SIZE (g_hash_table_lookup (self->times, GINT_TO_POINTER (tid)));

      g_hash_table_insert (self->times, GINT_TO_POINTER (tid), GSIZE_TO_POINTER (ticks));
      if (busiest == 0 || ticks - before > most)
        {
          most = ticks - before;
          busiest = tid;
        }
    }
  return busiest;
}

/* Steps */

static void
nothing (int number)
{
}

/* Waits for a stop; -1: the thread is gone, or sleeps. */
static int
wait_for_stop (pid_t tid)
{
  gboolean is_interrupted = FALSE;
  int status;

  for (guint n_alarms = 0;;)
    {
      pid_t found = waitpid (tid, &status, __WALL);

      if (found == tid)
        return WIFSTOPPED (status) && !is_interrupted ? status : -1;
      if (found >= 0 || errno != EINTR)
        return -1;
      /* The first alarm may have come just after the step began. */
      if (++n_alarms < 2)
        continue;
      is_interrupted = TRUE;
      ptrace (PTRACE_INTERRUPT, tid, NULL, NULL);
    }
}

/* pushf has pushed the flag for single steps, too: popf would set it after the last one. */
static void
clear_pushed_flag (const Follow *self, pid_t tid, const struct user_regs_struct *before)
{
  struct user_regs_struct now;
  guint64 flags;
  guint8 opcode = 0;

  if (memory_read (self->memory, before->rip, &opcode, 1) != 1 || opcode != PUSHF
      || ptrace (PTRACE_GETREGS, tid, NULL, &now) != 0
      || memory_read (self->memory, now.rsp, &flags, sizeof flags) != sizeof flags)
    return;
  ptrace (PTRACE_POKEDATA, tid, (void *) now.rsp, (void *) (flags & ~(guint64) TRAP_FLAG));
}

/* Returns FALSE when the window has to end. Sets *signal_number to what is to be delivered. */
static gboolean
make_step (Follow *self, Trial *trial, const Thread *thread, int *signal_number, gboolean is_judged)
{
  const struct user_regs_struct before = thread->regs;
  pid_t tid = thread->tid;
  int status, number;

  if (ptrace (PTRACE_SINGLESTEP, tid, NULL, (void *) (glong) *signal_number) != 0)
    return FALSE;
  *signal_number = 0;
  status = wait_for_stop (tid);
  if (status < 0 || status >> 16 != 0)
    return FALSE;
  number = WSTOPSIG (status);
  memory_forget (self->memory);
  if (self->n_steps++ % REFRESH_STEPS == 0)
    whole_refresh (self->whole);
  if (number == SIGTRAP)
    clear_pushed_flag (self, tid, &before);
  if (number == SIGTRAP)
    trial_step (trial, 0, is_judged);
  else
    {
      trial_step (trial, number, FALSE);
      *signal_number = number;
    }
  return TRUE;
}

static gboolean
has_pending_trap (pid_t tid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", tid);
  g_autofree char *text = NULL;
  const char *at;

  return g_file_get_contents (path, &text, NULL, NULL) && (at = strstr (text, "SigPnd:")) != NULL
         && (g_ascii_strtoull (at + strlen ("SigPnd:"), NULL, 16) >> (SIGTRAP - 1) & 1) != 0;
}

/* Takes the trap of a step whose system call was interrupted: the thread stops for the interrupt
 * first, and the trap would end the program once nobody traces it. */
static void
take_pending_trap (pid_t tid, int *signal_number)
{
  int status;

  while (has_pending_trap (tid))
    {
      if (ptrace (PTRACE_CONT, tid, NULL, (void *) (glong) *signal_number) != 0)
        return;
      *signal_number = 0;
      while (waitpid (tid, &status, __WALL) != tid)
        if (errno != EINTR)
          return;
      if (!WIFSTOPPED (status))
        return;
      if (status >> 16 == 0 && WSTOPSIG (status) != SIGTRAP)
        *signal_number = WSTOPSIG (status);
    }
}

/* The flag for single steps may have become the program's own. */
static void
let_go (pid_t tid, int signal_number)
{
  struct user_regs_struct regs;

  take_pending_trap (tid, &signal_number);
  if (ptrace (PTRACE_GETREGS, tid, NULL, &regs) == 0 && (regs.eflags & TRAP_FLAG) != 0)
    {
      regs.eflags &= ~(guint64) TRAP_FLAG;
      ptrace (PTRACE_SETREGS, tid, NULL, &regs);
    }
  ptrace (PTRACE_DETACH, tid, NULL, (void *) (glong) signal_number);
}

static void
follow_window (Follow *self, pid_t tid, guint n_steps)
{
  Thread *thread = thread_new (tid, &self->comparison);
  Trial *trial = trial_new (thread, self->whole, self->count);
  int signal_number = 0;
  gboolean is_on = TRUE;

  code_forget (self->comparison.code);
  memory_forget (self->memory);
  thread_restart (thread, FALSE);
  self->n_steps = 0;
  for (guint i = 0; i < n_steps && is_on; i++)
    is_on = make_step (self, trial, thread, &signal_number, TRUE);
  for (guint i = 0; i < MAX_MORE_STEPS && is_on && trial_is_open (trial); i++)
    is_on = make_step (self, trial, thread, &signal_number, FALSE);
  let_go (tid, signal_number);
  trial_free (trial);
  thread_free (thread);
}

/* FALSE: the thread cannot be traced. */
static gboolean
seize (Follow *self, pid_t tid, guint n_steps)
{
  cpu_set_t one, all;

  if (ptrace (PTRACE_SEIZE, tid, NULL, NULL) != 0)
    return FALSE;
  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  sched_getaffinity (tid, sizeof all, &all);
  sched_setaffinity (tid, sizeof one, &one);
  sched_setaffinity (0, sizeof one, &one);
  ptrace (PTRACE_INTERRUPT, tid, NULL, NULL);
  if (wait_for_stop (tid) >= 0)
    follow_window (self, tid, n_steps);
  else
    let_go (tid, 0);
  sched_setaffinity (tid, sizeof all, &all);
  sched_setaffinity (0, sizeof all, &all);
  return TRUE;
}

static void
set_timer (guint interval_ms)
{
  const struct itimerval timer = {
    .it_interval.tv_usec = interval_ms * 1000,
    .it_value.tv_usec = interval_ms * 1000,
  };
  struct sigaction action = { .sa_handler = nothing }; /* without SA_RESTART */

  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &timer, NULL);
}

static gboolean
follow_windows (Follow *self, const FollowPlan *plan, GError **error)
{
  guint n_left = plan->n_windows, n_missed = 0;
  pid_t tid;

  find_busiest (self);
  g_usleep (plan->warm_up_ms * 1000);
  while (n_left > 0 && (tid = find_busiest (self)) != 0 && n_missed <= plan->n_windows)
    {
      /* The busiest thread may have ended. */
      if (seize (self, tid, plan->n_steps))
        n_left--;
      else
        n_missed++;
      g_usleep (FREE_MS * 1000);
    }
  if (n_left > 0)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED,
                 n_missed > plan->n_windows ? "threads cannot be traced" : "the program has ended");
  return n_left == 0;
}

gboolean
follow (pid_t pid, const FollowPlan *plan, Whole *whole, TrialCount *count, GError **error)
{
  static const DeciderList no_deciders;
  g_autoptr (Memory) memory = memory_new (pid);
  g_autoptr (Code) code = code_new (pid, memory, &no_deciders);
  Tally tally;
  Follow self = {
    .pid = pid,
    .whole = whole,
    .count = count,
    .memory = memory,
    .comparison = { &no_deciders, code, memory, &tally },
    .times = g_hash_table_new (NULL, NULL),
  };
  gboolean is_done;

  tally_init (&tally, &no_deciders);
  whole_follow (whole, pid, memory);
  set_timer (PATIENCE_MS);
  is_done = follow_windows (&self, plan, error);
  set_timer (0);
  tally_clear (&tally);
  g_hash_table_unref (self.times);
  return is_done;
}
