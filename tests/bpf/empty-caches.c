/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* empty-caches.c MIB - writes to every cache line of so much memory again and again, for ever: the
 * neighbour of a measured program that leaves nothing of it in the caches of their CPU. */

#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 64

int
main (int argc, char **argv)
{
  size_t size = argc > 1 ? (size_t) atoi (argv[1]) << 20 : 0;
  volatile char *memory = size > 0 ? malloc (size) : NULL;

  if (memory == NULL)
    {
      fprintf (stderr, "empty-caches: how many MiB?\n");
      return 1;
    }
  for (;;)
    for (size_t at = 0; at < size; at += LINE_BYTES)
      memory[at]++;
}
