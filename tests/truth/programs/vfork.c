/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vfork.c - the parent's side of vfork, fork and posix_spawn, which keep return addresses in odd
 * places for a while. */

#include "marker.h"

#include <spawn.h>
#include <sys/wait.h>

static NOINLINE int
wait_for (pid_t pid)
{
  int status = -1;

  while (waitpid (pid, &status, 0) < 0)
    ;
  return status;
}

static NOINLINE int
run (void)
{
  char *const argv[] = { "/bin/true", NULL };
  volatile int sum = 0;

  for (int i = 0; i < 3; i++)
    {
      pid_t pid = vfork ();

      if (pid == 0)
        _exit (0);
      sum += wait_for (pid);
      pid = fork ();
      if (pid == 0)
        _exit (0);
      sum += wait_for (pid);
      if (posix_spawn (&pid, argv[0], NULL, NULL, argv, NULL) == 0)
        sum += wait_for (pid);
    }
  return sum;
}

MAIN (run)
