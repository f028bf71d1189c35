/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* remap.c - `remap COUNT`: maps its own code again COUNT times while it burns time, like programs
 * that load many libraries: each mapping is one more record about the process. */
#include "../programs/known.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

KNOWN void
hot (void)
{
  spin (1);
}

KNOWN void
map_again (int fd)
{
  void *mapping = mmap (0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000);

  hot ();
  munmap (mapping, 4096);
}

int
main (int argc, char **argv)
{
  int fd = open ("/proc/self/exe", O_RDONLY);

  for (int i = argc > 1 ? atoi (argv[1]) : 0; i > 0; i--)
    map_again (fd);
  return 0;
}
