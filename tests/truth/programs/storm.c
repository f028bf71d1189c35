/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* storm.c - signals at any instruction of code of every kind: lazy binding, leaves, prologues,
 * handlers. Each handler runs on its own stack or an alternate one and may be interrupted too. */

#include "lazy.h"
#include "marker.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static char other_stack[64 * 1024];
static volatile int n_signals;

long
callback (long value)
{
  return value + 1;
}

static NOINLINE int
compare (const void *left, const void *right)
{
  return *(const int *) left - *(const int *) right;
}

static void
on_signal (int number)
{
  int numbers[] = { 5, 3, 4 };

  qsort (numbers, 3, sizeof numbers[0], compare);
  n_signals += numbers[0] > 0;
}

static void
start_timer (int which, int number, int flags, int microseconds)
{
  struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | flags };
  struct itimerval timer = { { 0, microseconds }, { 0, microseconds } };

  sigaction (number, &action, NULL);
  setitimer (which, &timer, NULL);
}

static NOINLINE int
run (void)
{
  stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof other_stack };
  long sum = 0;

  sigaltstack (&stack, NULL);
  start_timer (ITIMER_REAL, SIGALRM, 0, 30000);
  start_timer (ITIMER_PROF, SIGPROF, SA_ONSTACK, 50000);
  for (int i = 0; i < 3 || n_signals < 300; i++)
    {
      void *library = dlopen (LIBRARY, RTLD_LAZY);
      long (*call) (long) = (long (*) (long)) dlsym (library, "library_call");

      sum += call (i);
      dlclose (library);
      free (strdup ("some memory"));
    }
  return sum == 0;
}

MAIN (run)
