/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jumps.c - setjmp and longjmp over many frames. */

#include "marker.h"

#include <setjmp.h>

static jmp_buf back;
static volatile long total;

static NOINLINE long
descend (volatile int n)
{
  long sum;

  if (n == 0)
    longjmp (back, 1);
  sum = descend (n - 1);
  return sum + n;
}

static NOINLINE long
attempt (int n)
{
  if (setjmp (back) == 0)
    return descend (n);
  return n;
}

static NOINLINE int
run (void)
{
  for (int i = 1; i < 40; i++)
    total += attempt (i);
  return total == 0;
}

MAIN (run)
