/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tower.c DEPTH [calls|signals|child|heir] - so many frames of one function on the stack, without
 * frame pointers, and on top of them for ever: nothing else, calls into the kernel, signals whose
 * handler runs on a stack of its own, or a child that does likewise, from the beginning or from
 * SIGUSR1 on. Otherwise that executes it anew. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

static char alternate[64 << 10];
static volatile int is_over; /* never */

static __attribute__ ((noinline)) void
spin (unsigned turns)
{
  for (unsigned i = 0; i < turns; i++)
    __asm__ volatile("");
}

static void
handle (int number)
{
  spin (2000000);
  __asm__ volatile("");
}

static void
begin_anew (int number)
{
  char depth[] = "10";
  char *argv[] = { depth, depth, NULL };

  execv ("/proc/self/exe", argv);
}

static void
have_child (int number)
{
  if (fork () == 0)
    prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static void
expect_signals (void)
{
  struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
  struct itimerval timer = { { 0, 5000 }, { 0, 5000 } };
  stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };

  sigaltstack (&stack, NULL);
  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &timer, NULL);
}

static __attribute__ ((noinline)) void
top (const char *what)
{
  if (strcmp (what, "signals") == 0)
    expect_signals ();
  if (strcmp (what, "child") == 0)
    have_child (0);
  if (strcmp (what, "heir") == 0)
    signal (SIGUSR1, have_child);
  while (!is_over)
    if (strcmp (what, "calls") == 0)
      getppid ();
    else
      spin (1000000);
}

static __attribute__ ((noinline)) void
climb (unsigned n, const char *what)
{
  if (n > 1)
    climb (n - 1, what);
  else
    top (what);
  __asm__ volatile("");
}

int
main (int argc, char **argv)
{
  signal (SIGUSR1, begin_anew);
  climb (argc > 1 ? (unsigned) atoi (argv[1]) : 1, argc > 2 ? argv[2] : "");
  return 0;
}
