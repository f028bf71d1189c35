/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* late-map.c - a child that never calls exec continues while its parent maps something executable:
 * what is true for one process is no longer true for the other. */
#include "../programs/known.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

KNOWN void
hot (void)
{
  spin (1000);
}

KNOWN void
child (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void
parent (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

int
main (void)
{
  const struct timespec moment = { .tv_nsec = 100000000 };

  /* This is often enough for code that decides by the number of samples which processes to keep up
   * to date. */
  parent ();
  if (fork () == 0)
    {
      child ();
      _exit (0);
    }
  nanosleep (&moment, NULL);
  mmap (NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  wait (NULL);
  return 0;
}
