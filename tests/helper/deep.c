/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* deep.c - `deep DEPTH SECONDS [THREADS]`: burns CPU seconds in each thread, DEPTH calls deep.
 *
 * A frame has room for 80 bytes of locals, so 400 calls take 45 KB of stack. A workload of
 * compare.py. */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static double seconds;

static double
cpu_time (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static __attribute__ ((noipa)) void
burn (void)
{
  double end = cpu_time () + seconds;

  while (cpu_time () < end)
    for (unsigned i = 0; i < 20000; i++)
      __asm__ volatile("");
}

static __attribute__ ((noipa)) void
descend (unsigned depth)
{
  char room[80];

  __asm__ volatile("" : : "r"(room) : "memory");
  if (depth > 1)
    descend (depth - 1);
  else
    burn ();
  __asm__ volatile("" ::: "memory");
}

static void *
run_thread (void *depth)
{
  descend (*(unsigned *) depth);
  return NULL;
}

int
main (int argc, char **argv)
{
  pthread_t threads[64];
  unsigned depth, n;

  if (argc < 3)
    return 2;
  depth = (unsigned) atoi (argv[1]);
  seconds = atof (argv[2]);
  n = argc > 3 ? (unsigned) atoi (argv[3]) % 64 : 0;
  if (n == 0)
    descend (depth);
  for (unsigned i = 0; i < n; i++)
    if (pthread_create (&threads[i], NULL, run_thread, &depth) != 0)
      return 1;
  for (unsigned i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  return 0;
}
