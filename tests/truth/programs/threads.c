/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* threads.c - threads that start, wait for each other, are cancelled, and end. */

#include "marker.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void
add (void *value)
{
  pthread_mutex_lock (&lock);
  total += *(long *) value;
  pthread_mutex_unlock (&lock);
}

static void *
run (void *data)
{
  long value = (long) data;

  pthread_cleanup_push (add, &value);
  for (int i = 0; i < 20; i++)
    add (&value);
  if (value == 3)
    pause ();
  pthread_cleanup_pop (1);
  return NULL;
}

static NOINLINE int
run_all (void)
{
  pthread_t threads[4];

  for (long i = 0; i < 4; i++)
    pthread_create (&threads[i], NULL, run, (void *) i);
  pthread_cancel (threads[3]);
  for (int i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
  return total == 0;
}

MAIN (run_all)
