/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-no-cfi.c - a leaf without any CFI, like system call stubs and _init: its return address is
 * always on top of the stack. */
#include "known.h"

void hot (unsigned long rounds);

__asm__(".pushsection .text\n" HOT_WITHOUT_CFI ".popsection\n");

KNOWN void
inner (void)
{
  long long end = cpu_time () + 500 * 1000000LL;

  while (cpu_time () < end)
    hot (1000000);
  AFTER_CALL ();
}

KNOWN void
outer (void)
{
  inner ();
  AFTER_CALL ();
}

int
main (void)
{
  outer ();
  return 0;
}
