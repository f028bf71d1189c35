/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frames.c - frames of unusual shape: of a size known at run time only, realigned, both, huge, and
 * functions of an instruction or two. */

#include "marker.h"

#include <alloca.h>
#include <stdint.h>
#include <string.h>

struct wide
{
  _Alignas(64) char bytes[64];
};

static volatile char sink;

static NOINLINE void
leaf (char *bytes)
{
  sink = bytes[0];
}

static NOINLINE void
dynamic (int n)
{
  char *bytes = alloca ((size_t) n);

  memset (bytes, n, (size_t) n);
  leaf (bytes);
}

static NOINLINE void
realigned (int n)
{
  struct wide wide;

  memset (&wide, n, sizeof wide);
  leaf (wide.bytes);
}

static NOINLINE void
realigned_arguments (int a, int b, int c, int d, int e, int f, struct wide wide, int n)
{
  struct wide copy = wide;
  char *bytes = alloca ((size_t) n + (size_t) a);

  bytes[0] = (char) (b + c + d + e + f);
  leaf (copy.bytes);
  leaf (bytes);
}

/* Realigned, and pushes arguments: gcc finds the frame through r10, saved below the frame pointer.
 */
static NOINLINE void
pushes_arguments (int n)
{
  struct wide wide = { { (char) n } };

  leaf (wide.bytes);
  realigned_arguments (n, 2, 3, 4, 5, 6, wide, n * 3);
}

static NOINLINE void
huge (void)
{
  char bytes[600 * 1024];

  bytes[0] = bytes[sizeof bytes - 1] = 1;
  leaf (bytes);
}

static NOINLINE int
nested (int n)
{
  struct wide wide = { { (char) n } };

  leaf (wide.bytes);
  dynamic (n + 1);
  return n > 0 ? nested (n - 1) + wide.bytes[0] : 0;
}

static NOINLINE int
run (void)
{
  for (int i = 1; i < 20; i++)
    {
      dynamic (i * 10);
      realigned (i);
      pushes_arguments (i);
      nested (i);
    }
  huge ();
  return 0;
}

MAIN (run)
