/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* recursion.c - `recursion DEPTH`: a function calls itself until DEPTH frames of it are on the
 * stack. ROOM bytes of each frame are unused; they decide how many frames a copy of the stack can
 * hold. */
#include "known.h"

#include <stdlib.h>

#ifndef MILLISECONDS
#define MILLISECONDS 500
#endif

KNOWN void
hot (void)
{
  spin (MILLISECONDS);
}

KNOWN void
recurse (unsigned depth)
{
#if ROOM > 0
  char room[ROOM];
  __asm__ volatile("" : : "r"(room) : "memory");
#endif

  if (depth > 1)
    recurse (depth - 1);
  else
    hot ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  recurse (argc > 1 ? (unsigned) atoi (argv[1]) : 1);
  return 0;
}
