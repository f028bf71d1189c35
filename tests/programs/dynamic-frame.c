/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dynamic-frame.c - frames whose size is known only at run time: alloca, a variable-length array,
 * and a frame aligned beyond the stack's own alignment, whose CFA is an expression that reads
 * memory. */
#include "known.h"

#include <alloca.h>

KNOWN void
hot (void)
{
  spin (4);
}

KNOWN void
with_alignment (unsigned size)
{
  char aligned[128] __attribute__ ((aligned (64)));
  char *room = alloca (size);

  __asm__ volatile("" : : "r"(aligned), "r"(room) : "memory");
  hot ();
  AFTER_CALL ();
}

KNOWN void
with_array (unsigned size)
{
  char room[size];

  __asm__ volatile("" : : "r"(room) : "memory");
  with_alignment (size / 2 + 1);
  AFTER_CALL ();
}

KNOWN void
with_alloca (unsigned size)
{
  char *room = alloca (size);

  __asm__ volatile("" : : "r"(room) : "memory");
  with_array (size / 3 + 1);
  AFTER_CALL ();
}

int
main (void)
{
  for (unsigned i = 0; i < 150; i++)
    with_alloca (16 + i * 37 % 2000);
  return 0;
}
