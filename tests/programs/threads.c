/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* threads.c - four threads burn time at once; their stacks end where libc starts a thread.
 *
 * With an argument there is one thread, and the leader of the process exits before it: /proc then
 * shows the process as a zombie without mappings while its thread continues. */
#include "known.h"

#include <pthread.h>
#include <stddef.h>

KNOWN void
hot (void)
{
  spin (300);
}

KNOWN void
work (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void *
thread_main (void *data)
{
  if (data)
    usleep (50000); /* gives the leader time to exit */
  work ();
  AFTER_CALL ();
  return NULL;
}

int
main (int argc, char **argv)
{
  pthread_t threads[4];
  unsigned count = argc > 1 ? 1 : 4;

  for (unsigned i = 0; i < count; i++)
    pthread_create (&threads[i], NULL, thread_main, argc > 1 ? argv : NULL);
  if (argc > 1)
    pthread_exit (NULL);
  for (unsigned i = 0; i < count; i++)
    pthread_join (threads[i], NULL);
  return 0;
}
