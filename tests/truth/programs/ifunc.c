/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ifunc.c - functions that a resolver chooses, called from outside, from each other and through a
 * pointer. */

#include "marker.h"

#include <string.h>

typedef long (*Function) (long);

static volatile long total;

static NOINLINE long
plain (long value)
{
  return value + 1;
}

static NOINLINE long
doubled (long value)
{
  return plain (value) * 2;
}

/* Runs while the program is relocated, or at the first call. */
static NOINLINE __attribute__ ((used)) Function
choose (void)
{
  volatile int one = 1;

  return one ? doubled : plain;
}

__attribute__ ((ifunc ("choose"))) long chosen (long value);

static NOINLINE int
run (void)
{
  volatile Function pointer = chosen;
  char bytes[300];

  for (int i = 1; i < 20; i++)
    {
      memset (bytes, i, sizeof bytes);
      total += chosen (i) + pointer (i) + bytes[i] + (long) strlen ("chosen by the C library");
    }
  return total == 0;
}

MAIN (run)
