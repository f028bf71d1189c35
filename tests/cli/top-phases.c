/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* top-phases.c - uses the CPU for test_top.py: in early_phase() for the CPU milliseconds of its
 * first argument, then in late_phase() for those of the second. */

#include <stdlib.h>
#include <time.h>

#define UNIT 20000

static volatile unsigned long sink;

static long
cpu_ms (void)
{
  return clock () / (CLOCKS_PER_SEC / 1000);
}

static __attribute__ ((noinline)) void
early_phase (void)
{
  for (int i = 0; i < UNIT; i++)
    sink += i;
}

static __attribute__ ((noinline)) void
late_phase (void)
{
  for (int i = 0; i < UNIT; i++)
    sink ^= i;
}

static __attribute__ ((noinline)) void
call_both (long early, long late)
{
  while (cpu_ms () < early)
    early_phase ();
  while (cpu_ms () < early + late)
    late_phase ();
  sink++;
}

int
main (int argc, char **argv)
{
  call_both (argc > 1 ? atol (argv[1]) : 0, argc > 2 ? atol (argv[2]) : 0);
  return 0;
}
