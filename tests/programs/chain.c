/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* chain.c - main calls a, a calls b, b calls c, c calls hot; no frame pointers anywhere.
 * The plain case, also built static, static-pie, non-PIE and 32-bit.
 */
#include "known.h"

KNOWN void
hot (void)
{
  spin (600);
}

KNOWN void
c (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void
b (void)
{
  char room[200];

  __asm__ volatile("" : : "r"(room) : "memory");
  JUNK_FRAME_POINTER ();
  c ();
  AFTER_CALL ();
}

KNOWN void
a (void)
{
  JUNK_FRAME_POINTER ();
  b ();
  AFTER_CALL ();
}

int
main (void)
{
  a ();
  return 0;
}
