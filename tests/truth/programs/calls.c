/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.c - plain C: recursion, calls through pointers, many arguments, library functions that call
 * back, functions that save every register. */

#include "marker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NOINLINE int
compare (const void *left, const void *right)
{
  return *(const int *) left - *(const int *) right;
}

static NOINLINE long
fibonacci (int n)
{
  return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2);
}

static NOINLINE long
many (long a, long b, long c, long d, long e, long f, long g, long h, double i)
{
  long sum = a * b + c * d;

  for (int k = 0; k < 3; k++)
    sum += fibonacci (k + 3) * (e + k) + f * g - h * (long) i;
  return sum;
}

static NOINLINE int
variadic (char *buffer, size_t size, const char *format, ...)
{
  va_list list;
  int n;

  va_start (list, format);
  n = vsnprintf (buffer, size, format, list);
  va_end (list);
  return n;
}

static NOINLINE int
run (void)
{
  long (*volatile indirect) (int) = fibonacci;
  int numbers[50];
  char text[200];

  for (int i = 0; i < 50; i++)
    numbers[i] = (i * 37) % 50;
  qsort (numbers, 50, sizeof numbers[0], compare);
  for (int i = 0; i < 5; i++)
    {
      variadic (text, sizeof text, "%ld %s %g %#lx", many (i, 2, 3, 4, 5, 6, 7, 8, 9.5), "x",
                i / 3., indirect (8));
      puts (text);
    }
  return (int) strlen (strdup (text)) == 0;
}

MAIN (run)
