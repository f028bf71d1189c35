/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* big-frame.c - a frame of 540 KiB in the middle of the stack, as one function of the Rust compiler
 * has: no copy can reach over it.
 */
#include "known.h"

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
big (void)
{
  char room[540 * 1024];

  room[0] = 1;
  __asm__ volatile("" : : "r"(room) : "memory");
  inner ();
  AFTER_CALL ();
}

KNOWN void
outer (void)
{
  big ();
  AFTER_CALL ();
}

int
main (void)
{
  outer ();
  return 0;
}
