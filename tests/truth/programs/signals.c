/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* signals.c - handlers on the same stack and on an alternate one, within each other, after a fault,
 * during a system call, and one that is left by siglongjmp. */

#include "marker.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static char other_stack[64 * 1024];
static sigjmp_buf back;
static volatile int n_ticks, depth;

static NOINLINE int
work (int n)
{
  return n < 1 ? 1 : work (n - 1) + n;
}

static void
on_signal (int number, siginfo_t *info, void *context)
{
  char text[64];

  snprintf (text, sizeof text, "%d %d", number, work (5));
  n_ticks += (int) strlen (text);
  if (number == SIGUSR1 && depth++ < 2)
    raise (SIGUSR2);
}

static void
on_fault (int number)
{
  work (3);
  siglongjmp (back, 1);
}

static void
handle (int number, int flags, void (*plain) (int), void (*full) (int, siginfo_t *, void *))
{
  struct sigaction action = { .sa_flags = flags };

  if (full != NULL)
    action.sa_sigaction = full;
  else
    action.sa_handler = plain;
  sigaction (number, &action, NULL);
}

static NOINLINE void
fault (volatile int *nowhere)
{
  if (sigsetjmp (back, 1) == 0)
    *nowhere = 1;
}

static NOINLINE int
run (void)
{
  stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof other_stack };
  struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };

  sigaltstack (&stack, NULL);
  handle (SIGUSR1, SA_SIGINFO, NULL, on_signal);
  handle (SIGUSR2, SA_SIGINFO | SA_ONSTACK, NULL, on_signal);
  handle (SIGALRM, SA_SIGINFO | SA_RESTART, NULL, on_signal);
  handle (SIGSEGV, SA_ONSTACK, on_fault, NULL);
  for (int i = 0; i < 3; i++)
    {
      depth = 0;
      raise (SIGUSR1);
      fault (NULL);
      kill (getpid (), SIGUSR2);
    }
  setitimer (ITIMER_REAL, &timer, NULL);
  while (n_ticks < 200)
    work (50);
  usleep (3000);
  return 0;
}

MAIN (run)
