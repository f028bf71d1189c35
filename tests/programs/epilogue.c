/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* epilogue.c - a small function that saves and restores registers is called in a tight loop, by a
 * function whose frame is found through the frame pointer.
 *
 * Many samples hit its prologue and epilogue. In the epilogue its CFI still says that the frame
 * pointer is saved at a place that is already below the stack pointer and in no copy; the register
 * itself has its value again. */
#include "known.h"

#include <alloca.h>

KNOWN long
leaf (long x)
{
  __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13");
  return x * 3 + 1;
}

KNOWN long
with_frame_pointer (unsigned size)
{
  char *room = alloca (size);
  long x = 1;

  __asm__ volatile("" : : "r"(room) : "memory");
  for (unsigned i = 0; i < 200000; i++)
    x = leaf (x);
  return x;
}

int
main (void)
{
  long long end = cpu_time () + 600000000LL;

  while (cpu_time () < end)
    with_frame_pointer (100);
  return 0;
}
