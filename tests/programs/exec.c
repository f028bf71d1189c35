/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* exec.c - `exec-X COUNT OTHER`: burns time, then executes OTHER, COUNT times in turn.
 *
 * It is built twice for the same fixed address, with different function names and frame sizes: a
 * stack unwound with the binary from before or after the exec shows wrong names or junk. */
#include "known.h"

#include <stdio.h>
#include <stdlib.h>

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE (a, b)

KNOWN void
NAMED (hot_, WHICH) (void)
{
  spin (80);
}

KNOWN void
NAMED (middle_, WHICH) (void)
{
  char room[ROOM];

  __asm__ volatile("" : : "r"(room) : "memory");
  NAMED (hot_, WHICH) ();
  AFTER_CALL ();
}

KNOWN void
NAMED (outer_, WHICH) (void)
{
  char room[ROOM * 3];

  __asm__ volatile("" : : "r"(room) : "memory");
  NAMED (middle_, WHICH) ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  char count[16];

  NAMED (outer_, WHICH) ();
  if (argc < 3 || atoi (argv[1]) == 0)
    return 0;
  snprintf (count, sizeof count, "%d", atoi (argv[1]) - 1);
  execl (argv[2], argv[2], count, argv[0], (char *) NULL);
  return 1;
}
