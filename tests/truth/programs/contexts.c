/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* contexts.c - coroutines by makecontext and swapcontext, left in the middle and entered again, one
 * with a signal in it; each ends by returning. */

#include "marker.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define N_CONTEXTS 3
#define STACK_SIZE 65536
#define PAGE       4096

static ucontext_t main_context, contexts[N_CONTEXTS];
static volatile long total;

static void
on_signal (int number)
{
  total += number;
}

static NOINLINE long
descend (int which, volatile int n)
{
  long sum = 1;

  if (n == 0)
    swapcontext (&contexts[which], &main_context);
  else
    sum = descend (which, n - 1) + n;
  if (which == 1 && n == 2)
    raise (SIGUSR1);
  return sum;
}

static void
coroutine (int which)
{
  for (int i = 1; i < 4; i++)
    total += descend (which, i + which);
}

static void
make (int which)
{
  /* A page between two stacks, so that each is a mapping of its own. */
  char *stack = mmap (NULL, STACK_SIZE + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  mprotect (stack + PAGE, STACK_SIZE, PROT_READ | PROT_WRITE);
  getcontext (&contexts[which]);
  contexts[which].uc_stack.ss_sp = stack + PAGE;
  contexts[which].uc_stack.ss_size = STACK_SIZE;
  contexts[which].uc_link = &main_context;
  makecontext (&contexts[which], (void (*) (void)) coroutine, 1, which);
}

static NOINLINE int
run (void)
{
  signal (SIGUSR1, on_signal);
  for (int which = 0; which < N_CONTEXTS; which++)
    make (which);
  for (int i = 0; i < 4; i++)
    for (int which = 0; which < N_CONTEXTS; which++)
      swapcontext (&main_context, &contexts[which]);
  return total == 0;
}

MAIN (run)
