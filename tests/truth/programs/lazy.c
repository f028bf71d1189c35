/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lazy.c - calls through a PLT that is bound at the first call, with arguments in every kind of
 * register; the library calls back through its own PLT. */

#include "lazy.h"

#include <stdio.h>

long
callback (long value)
{
  return value + 1;
}

int
main (void)
{
  long sum = 0;

  for (int i = 0; i < 3; i++)
    sum += library_sum (1, 2, 3, 4, 5, 6, 7, 8) + (long) library_scale (1.5, 2.5, 3.5)
           + library_call (i);
  printf ("%ld\n", sum);
  return 0;
}
