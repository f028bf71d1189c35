/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* many-short.c - `many-short PROGRAM`: runs PROGRAM 200 times, one after the other. */
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

int
main (int argc, char **argv)
{
  char *environment[] = { NULL };
  pid_t pid;

  if (argc != 2)
    return 2;
  for (unsigned i = 0; i < 200; i++)
    {
      if (posix_spawn (&pid, argv[1], NULL, NULL, argv + 1, environment) != 0)
        return 1;
      waitpid (pid, NULL, 0);
    }
  return 0;
}
