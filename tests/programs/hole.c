/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hole.c - a thread whose stack has untouched pages in its middle, where the kernel's copy ends.
 *
 * With LEAF the code in front has no CFI. With FILLED the pages are touched, and too many. */
#include "known.h"

#include <pthread.h>
#include <string.h>

#ifdef LEAF
void hot (unsigned long rounds);

__asm__(".pushsection .text\n" HOT_WITHOUT_CFI ".popsection\n");

KNOWN void
work (void)
{
  long long end = cpu_time () + 500 * 1000000LL;

  while (cpu_time () < end)
    hot (1000000);
  AFTER_CALL ();
}
#else
KNOWN void
hot (void)
{
  spin (500);
}
#define work hot
#endif

#ifdef FILLED
#define ROOM 40960
#else
#define ROOM 12288
#endif

KNOWN void
sparse (void)
{
  char buffer[ROOM];

#ifdef FILLED
  memset (buffer, 1, sizeof buffer);
#endif
  /* Otherwise the array takes up space, and nothing is written to it. */
  __asm__ volatile("" ::"r"(buffer) : "memory");
  work ();
  AFTER_CALL ();
}

static void *
thread (void *ignored)
{
  sparse ();
  AFTER_CALL ();
  return ignored;
}

int
main (void)
{
  pthread_t id;

  if (pthread_create (&id, 0, thread, 0) != 0)
    return 1;
  pthread_join (id, 0);
  return 0;
}
