/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* spin.c - runs in a function of a given name until it is killed. Builds with different names are
 * the same program but for the name; with OTHER it is another program. */

#ifdef OTHER
void
other (void)
{
}
#endif

__attribute__ ((noinline)) void
FUNCTION (void)
{
  for (volatile unsigned long n = 0;; n++)
    ;
}

int
main (void)
{
  FUNCTION ();
  return 0;
}
