/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cputime.c - runs a command and writes the CPU seconds of it and all its descendants to a file.
 *
 * run.py records "cputime FILE COMMAND…", so that the CPU time that the samples are compared with
 * comes from the kernel and not from the recorder. Its own samples are told apart by its pid, which
 * is in the file too. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double
seconds_of (struct timeval time)
{
  return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

static int
write_result (const char *path, const struct rusage *usage, int status)
{
  FILE *file = fopen (path, "w");

  if (file == NULL)
    return 125;
  fprintf (file, "%.6f %d\n", seconds_of (usage->ru_utime) + seconds_of (usage->ru_stime),
           (int) getpid ());
  fclose (file);
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

int
main (int argc, char **argv)
{
  struct rusage usage;
  int status;
  pid_t pid;

  if (argc < 3)
    return 125;
  pid = fork ();
  if (pid < 0)
    return 125;
  if (pid == 0)
    {
      execvp (argv[2], argv + 2);
      _exit (127);
    }
  if (wait4 (pid, &status, 0, &usage) < 0)
    return 125;
  return write_result (argv[1], &usage, status);
}
