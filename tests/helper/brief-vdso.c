/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* brief-vdso.c - 200 children of two milliseconds that read the clock: most samples are in the vDSO
 * of a process whose memory can no longer be read. */
#include "../programs/known.h"

#include <time.h>

KNOWN void
read_clock (unsigned times)
{
  struct timespec now;

  JUNK_FRAME_POINTER ();
  while (times--)
    clock_gettime (CLOCK_MONOTONIC, &now);
}

KNOWN void
child (void)
{
  long long end = cpu_time () + 2000000LL;

  while (cpu_time () < end)
    read_clock (2000);
}

#include "brief.h"
