/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* leaf-no-cfi.c - a leaf without any CFI, as system call stubs and _init have it: its return
 * address is on top of the stack all the time.
 */
#include "known.h"

void hot (unsigned long rounds);

__asm__(".pushsection .text\n"
        ".globl hot\n"
        ".type hot, @function\n"
        "hot:\n"
        "  dec %rdi\n"
        "  jnz hot\n"
        "  ret\n"
        ".size hot, . - hot\n"
        ".popsection\n");

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
