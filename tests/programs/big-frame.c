/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* big-frame.c - a frame of 540 KiB in the middle of the stack, like that of one function of the
 * Rust compiler: no copy can reach beyond it. With an argument the frame is filled first; otherwise
 * most of its pages do not exist, and the kernel's copy ends at the first of them. */
#include "known.h"

#include <string.h>

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
inner (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void
big (int fill)
{
  char room[540 * 1024];

  if (fill)
    memset (room, 1, sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
  inner ();
  AFTER_CALL ();
}

KNOWN void
outer (int fill)
{
  big (fill);
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  (void) argv;
  outer (argc > 1);
  return 0;
}
