/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vdso.c - reads the clock in a loop: most samples are in the vDSO. */
#include "known.h"

#include <time.h>

KNOWN void
read_clock (unsigned times)
{
  struct timespec now;

  JUNK_FRAME_POINTER ();
  while (times--)
    clock_gettime (CLOCK_MONOTONIC, &now);
}

int
main (void)
{
  long long end = cpu_time () + 500000000LL;

  while (cpu_time () < end)
    read_clock (20000);
  return 0;
}
