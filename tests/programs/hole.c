/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hole.c - a thread whose stack has pages in its middle that were never touched, where the kernel's
 * copy ends.
 */
#include "known.h"

#include <pthread.h>

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
sparse (void)
{
  char buffer[12288];

  /* The array has its place, and nothing is written to it. */
  __asm__ volatile("" ::"r"(buffer) : "memory");
  hot ();
  AFTER_CALL ();
}

static void *
thread (void *ignored)
{
  sparse ();
  AFTER_CALL ();
  return ignored;
}

int
main (void)
{
  pthread_t id;

  if (pthread_create (&id, 0, thread, 0) != 0)
    return 1;
  pthread_join (id, 0);
  return 0;
}
