/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* steps.c - a program of aarch64 that steps.py follows instruction by instruction.
 *
 * Its functions have what unwinding must know: frames of several sizes, one whose size is computed,
 * recursion, calls through pointers, jumps instead of calls, and the C library's own code. */

#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__ ((noinline))
#else
#define NOINLINE __attribute__ ((noinline, noclone))
#endif

static jmp_buf behind;
static volatile int sink;

static NOINLINE int
compare (const void *a, const void *b)
{
  return *(const int *) a - *(const int *) b;
}

static NOINLINE int
recurse (int n)
{
  volatile char room[40];

  room[n % 40] = (char) n;
  return n > 0 ? recurse (n - 1) + room[n % 40] : sink;
}

static NOINLINE int
with_computed_frame (int n)
{
  char *room = alloca ((size_t) n);

  memset (room, n, (size_t) n);
  sink = room[n / 2];
  return recurse (3) + room[n - 1];
}

static NOINLINE int
with_large_frame (int n)
{
  volatile char room[9000];

  room[n] = 1;
  return with_computed_frame (n + 100) + room[n];
}

static NOINLINE int
jumps (int n)
{
  return with_large_frame (n + 1);
}

static NOINLINE void
leaps (int n)
{
  if (n == 0)
    longjmp (behind, 1);
  leaps (n - 1);
  sink = n;
}

int
main (void)
{
  int (*volatile function) (int) = jumps;
  int numbers[24];
  char text[64];

  for (int i = 0; i < 24; i++)
    numbers[i] = i * 37 % 23;
  qsort (numbers, 24, sizeof *numbers, compare);
  if (setjmp (behind) == 0)
    leaps (5);
  sink = function (numbers[3]) + recurse (25);
  snprintf (text, sizeof text, "%d %s %.6g", sink, "text", strtod ("2.5e3", NULL));
  return (int) strlen (text) > 60;
}
