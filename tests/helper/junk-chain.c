/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* junk-chain.c - the frame pointer register is a general register here and points to a long chain
 * of false frames: a walk by frame pointers finds 100 callers, all of them wrong. */
#include "../programs/known.h"

struct frame
{
  struct frame *next;
  unsigned long address;
};

static struct frame frames[100];

#ifdef __x86_64__
#define SET_FRAME_POINTER(value) __asm__ volatile("movq %0, %%rbp" : : "r"(value) : "rbp")
#elif defined(__aarch64__)
#define SET_FRAME_POINTER(value) __asm__ volatile("mov x29, %0" : : "r"(value) : "x29")
#endif

KNOWN void
hot (void)
{
  long long end = cpu_time () + 600000000LL;

  do
    for (unsigned i = 0; i < 200000; i++)
      SET_FRAME_POINTER (frames);
  while (cpu_time () < end);
}

KNOWN void
a (void)
{
  hot ();
  AFTER_CALL ();
}

int
main (void)
{
  for (unsigned i = 0; i < 100; i++)
    frames[i] = (struct frame){ &frames[i + 1], 0x123450 + i };
  frames[99].next = 0;
  a ();
  return 0;
}
