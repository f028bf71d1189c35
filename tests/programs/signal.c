/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* signal.c - a timer signal interrupts a function at any instruction, and its handler burns the
 * time. step() saves registers, so that signals also arrive in its prologue and epilogue and on its
 * first instruction, whose name is right only if the interrupted pc is looked up unchanged. With an
 * argument the handler runs on a stack of its own, and the copied bytes contain nothing of the
 * interrupted one. */
#include "known.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#define N_SIGNALS 250

static volatile sig_atomic_t handled;
/* The handler requests the next signal, so that the interrupted code continues in between even if a
 * handler takes longer than the period. */
static const struct itimerval next = { .it_value = { 0, 2000 } };
static char alternate[64 * 1024];

KNOWN void
hot (void)
{
  spin (2);
}

KNOWN void
handler_inner (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  if (++handled < N_SIGNALS)
    setitimer (ITIMER_REAL, &next, NULL);
}

KNOWN void
handler (int number)
{
  (void) number;
  handler_inner ();
  AFTER_CALL ();
}

KNOWN long
step (long x)
{
#ifdef __i386__
  __asm__ volatile("" ::: "ebx", "esi", "edi");
#elif defined __aarch64__
  __asm__ volatile("" ::: "x19", "x29", "x20", "x21");
#else
  __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13");
#endif
  return x * 3 + 1;
}

KNOWN void
interrupted (void)
{
  long x = 1;

  while (handled < N_SIGNALS)
    x = step (x);
}

KNOWN void
b (void)
{
  JUNK_FRAME_POINTER ();
  interrupted ();
  AFTER_CALL ();
}

KNOWN void
a (void)
{
  b ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  /* The first signal comes later, so that a slow machine has left setitimer() by then. */
  const struct itimerval first = { .it_value = { 0, 100000 } };
  struct sigaction action = { .sa_handler = handler };
  stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };

  (void) argv;
  if (argc > 1)
    {
      sigaltstack (&stack, NULL);
      action.sa_flags = SA_ONSTACK;
    }
  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &first, NULL);
  a ();
  return 0;
}
