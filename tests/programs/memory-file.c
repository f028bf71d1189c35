/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-file.c - `memory-file PROGRAM`: copies PROGRAM into a file in memory and runs that. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

int
main (int argc, char **argv)
{
  int from = argc > 1 ? open (argv[1], O_RDONLY | O_CLOEXEC) : -1;
  int to = memfd_create ("program", MFD_CLOEXEC);
  struct stat info;

  if (from < 0 || to < 0 || fstat (from, &info) != 0
      || sendfile (to, from, NULL, (size_t) info.st_size) != info.st_size)
    {
      perror ("memory-file");
      return 1;
    }
  fexecve (to, argv + 1, environ);
  perror ("fexecve");
  return 1;
}
