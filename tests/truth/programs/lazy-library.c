/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lazy-library.c - the library of lazy.c; library.c opens it at run time too. */

#include "lazy.h"

long
library_sum (long a, long b, long c, long d, long e, long f, long g, long h)
{
  return a + b + c + d + e + f + g + h;
}

double
library_scale (double a, double b, double c)
{
  return a * b + c;
}

long
library_call (long value)
{
  return library_sum (1, 2, 3, 4, 5, 6, 7, callback (value)) + callback (value);
}
