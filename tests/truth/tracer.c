/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracer.c - ptrace. It follows threads, but not the children of a fork. Tracer and program share a
 * CPU: a step is two context switches, which cost most between CPUs. */

#include "tracer.h"

#include "compare.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE_OPTIONS                                                                              \
  (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)
/* After this many steps all frames of the stack are compared, not only the innermost one. */
#define WALK_INTERVAL 13
#define MAX_FRAMES    512

typedef struct
{
  const Plan *plan;
  Comparison comparison;
  pid_t pid;
  GHashTable *threads; /* tid -> Thread */
  gboolean is_skipping;
  guint n_stops; /* at system calls: two for each */
  guint64 n_steps;
  gint64 deadline; /* monotonic, in microseconds */
} Tracer;

static void
become_program (const char *const *argv)
{
  int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

  personality (ADDR_NO_RANDOMIZE);
  dup2 (null, STDIN_FILENO);
  dup2 (null, STDOUT_FILENO);
  dup2 (null, STDERR_FILENO);
  if (ptrace (PTRACE_TRACEME, 0, NULL, NULL) == 0)
    execv (argv[0], (char *const *) argv);
  _exit (127);
}

/* Starts the process and stops at its first instruction; returns -1 on failure. */
static pid_t
start_program (const char *const *argv)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    become_program (argv);
  if (pid < 0 || waitpid (pid, &status, 0) != pid || !WIFSTOPPED (status))
    return -1;
  if (ptrace (PTRACE_SETOPTIONS, pid, NULL, (void *) (glong) TRACE_OPTIONS) != 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
      return -1;
    }
  return pid;
}

/* One CPU for both. */
static void
share_cpu (cpu_set_t *before)
{
  cpu_set_t one;

  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  sched_getaffinity (0, sizeof *before, before);
  sched_setaffinity (0, sizeof one, &one);
}

static void
fill_registers (Registers *self, const struct user_regs_struct *regs)
{
  *self = (Registers){
    .value = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp,
               regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
               regs->r15, regs->rip },
    .known = ALL_REGISTERS,
    .kind = FRAME_RUNNING,
  };
}

static void
compare (Tracer *self, Thread *thread)
{
  Tally *tally = self->comparison.tally;
  Place *place = code_find (self->comparison.code, thread->regs.rip);
  Registers now;

  tally->n_steps++;
  self->n_steps++;
  if (place == NULL)
    tally->n_outside++;
  else if (thread_is_leaving (thread))
    tally->n_leaving++;
  else if (shadow_caller (&thread->shadow, 0) == NULL && !thread->shadow.is_whole)
    tally->n_unknown++;
  else
    {
      tally->n_compared++;
      fill_registers (&now, &thread->regs);
      compare_stack (&self->comparison, &thread->shadow, &now, place,
                     self->n_steps % WALK_INTERVAL == 0 ? MAX_FRAMES : 1);
    }
}

/* At full speed, it stops at every system call: the steps start at one of them. */
static void
resume (const Tracer *self, const Thread *thread, int signal_number)
{
  ptrace (self->is_skipping ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, thread->tid, NULL,
          (void *) (glong) signal_number);
}

/* Only while skipping: single steps have no such stops. */
static void
stopped_at_system_call (Tracer *self, Thread *thread)
{
  struct user_regs_struct regs;

  ptrace (PTRACE_GETREGS, thread->tid, NULL, &regs);
  self->n_stops++;
  if ((regs.orig_rax == MARKER && (glong) regs.rax != -ENOSYS)
      || (self->plan->n_skipped > 0 && self->n_stops >= 2 * self->plan->n_skipped))
    {
      self->is_skipping = FALSE;
      code_forget (self->comparison.code);
      thread_restart (thread, FALSE);
      compare (self, thread);
    }
  resume (self, thread, 0);
}

/* The marker again, while single-stepping. */
static void
look_for_end (Tracer *self, const Thread *thread)
{
  if (self->plan->has_marker && thread->instruction.kind == INSTRUCTION_SYSCALL
      && thread->regs.rax == MARKER && g_hash_table_size (self->threads) == 1)
    self->is_skipping = TRUE;
}

static Thread *
find_thread (Tracer *self, pid_t tid)
{
  Thread *thread = g_hash_table_lookup (self->threads, GINT_TO_POINTER (tid));

  if (thread == NULL)
    {
      thread = thread_new (tid, &self->comparison);
      g_hash_table_insert (self->threads, GINT_TO_POINTER (tid), thread);
    }
  return thread;
}

static void
stopped (Tracer *self, pid_t tid, int status)
{
  gboolean is_new = g_hash_table_lookup (self->threads, GINT_TO_POINTER (tid)) == NULL;
  Thread *thread = find_thread (self, tid);
  int number = WSTOPSIG (status), event = status >> 16;

  memory_forget (self->comparison.memory);
  if (number == (SIGTRAP | 0x80))
    {
      stopped_at_system_call (self, thread);
      return;
    }
  if (is_new || event == PTRACE_EVENT_EXEC)
    {
      code_forget (self->comparison.code);
      thread_restart (thread, !self->is_skipping);
      number = 0;
    }
  else if (event != 0)
    number = 0;
  else if (self->is_skipping)
    number = number == SIGTRAP ? 0 : number;
  else
    {
      thread_stopped (thread, number == SIGTRAP ? 0 : number);
      if (number == SIGTRAP)
        compare (self, thread);
      look_for_end (self, thread);
      number = number == SIGTRAP ? 0 : number;
    }
  resume (self, thread, number);
}

static void
follow (Tracer *self)
{
  int status;

  stopped (self, self->pid, SIGTRAP << 8 | 0x7f);
  while (self->n_steps < self->plan->max_steps
         && (self->n_steps % 1024 != 0 || g_get_monotonic_time () < self->deadline))
    {
      pid_t tid = waitpid (-1, &status, __WALL);

      if (tid < 0 && errno == EINTR)
        continue;
      if (tid < 0)
        break;
      if (WIFSTOPPED (status))
        stopped (self, tid, status);
      else
        g_hash_table_remove (self->threads, GINT_TO_POINTER (tid));
    }
}

static void
end_program (pid_t pid)
{
  int status;

  kill (pid, SIGKILL);
  while (waitpid (-1, &status, __WALL) > 0 || errno == EINTR)
    ;
}

gboolean
tracer_run (const Plan *plan, const DeciderList *deciders, Tally *tally, GError **error)
{
  g_autoptr (Memory) memory = NULL;
  g_autoptr (Code) code = NULL;
  Tracer self = {
    .plan = plan,
    .is_skipping = plan->has_marker || plan->n_skipped > 0,
    .deadline = g_get_monotonic_time () + (gint64) (plan->max_seconds * 1e6),
  };
  cpu_set_t cpus;

  share_cpu (&cpus);
  self.pid = start_program (plan->argv);
  sched_setaffinity (0, sizeof cpus, &cpus);
  if (self.pid < 0)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s did not start", plan->argv[0]);
      return FALSE;
    }
  memory = memory_new (self.pid);
  code = code_new (self.pid, memory, deciders);
  self.comparison = (Comparison){ deciders, code, memory, tally };
  self.threads = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) thread_free);
  follow (&self);
  end_program (self.pid);
  g_hash_table_unref (self.threads);
  return TRUE;
}

const char *
tracer_obstacle (void)
{
  static const char *const argv[] = { "/bin/true", NULL };
  pid_t pid = start_program (argv);
  const char *obstacle = NULL;
  int status;

  if (pid < 0)
    return "ptrace is refused";
  if (ptrace (PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || waitpid (pid, &status, 0) != pid
      || !WIFSTOPPED (status))
    obstacle = "no single steps";
  end_program (pid);
  return obstacle;
}
