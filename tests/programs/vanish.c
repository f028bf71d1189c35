/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vanish.c - `vanish [FILE]`: removes its own executable, or moves FILE over it, and then burns the
 * time. FILE is another valid program: opening the path now reads the wrong one. */
#include "known.h"

#include <stdio.h>

KNOWN void
hot (void)
{
  spin (600);
}

KNOWN void
gone_inner (void)
{
  char room[333];

  __asm__ volatile("" : : "r"(room) : "memory");
  hot ();
  AFTER_CALL ();
}

KNOWN void
gone (void)
{
  JUNK_FRAME_POINTER ();
  gone_inner ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  if (argc > 1 ? rename (argv[1], argv[0]) : unlink (argv[0]))
    {
      perror (argv[0]);
      return 1;
    }
  gone ();
  return 0;
}
