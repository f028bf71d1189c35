/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pretend.c - see pretend.h. */

#include "pretend.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS (2048 * 32)

static uint64_t wild[WORDS];
static const char *kind;
static pthread_t burning;

uint64_t
address_of (const void *object)
{
  return (uint64_t) (uintptr_t) object;
}

uint64_t
own_thread (void)
{
  return (uint64_t) burning;
}

uint64_t
wrong_size (void)
{
  static const uint64_t sizes[] = { 1ull << 62, UINT64_MAX, 1u << 31, 16384, 256, 255 };

  return sizes[(unsigned) rand () % (sizeof sizes / sizeof *sizes)];
}

static void
make_wild (void)
{
  static const uint64_t bad[] = {
    0, 1, 0x7ffffffff000, 0xffff888000000000, 0x8000000000000000, UINT64_MAX, 0xffffffffff600000
  };

  for (int i = 0; i < WORDS; i++)
    wild[i] = rand () % 4 != 0
                  ? address_of (&wild[rand () % (WORDS - 64)]) + (uint64_t) (rand () % 3 == 0)
                  : bad[(unsigned) rand () % (sizeof bad / sizeof *bad)];
  for (int i = 0; i < WORDS; i += 16)
    wild[i + (rand () & 7)] = own_thread ();
  pretence.point_at (address_of (&wild[rand () % 1024]));
}

static void
change (void)
{
  if (strcmp (kind, "wild") == 0)
    make_wild ();
  else if (strcmp (kind, "lies") == 0)
    pretence.make_lies ();
  else if (strcmp (kind, "cycle") == 0)
    pretence.make_cycle ();
  else if (strcmp (kind, "flood") == 0)
    pretence.make_flood ();
}

static void *
change_always (void *unused)
{
  static const char *const kinds[] = { "wild", "lies", "cycle", "flood" };

  for (unsigned i = 0;; i++)
    {
      kind = kinds[i % 4];
      change ();
      pretence.make_chain ();
    }
  return unused;
}

void
burn (double seconds)
{
  struct timespec now;
  double end;

  clock_gettime (CLOCK_MONOTONIC, &now);
  end = (double) now.tv_sec + (double) now.tv_nsec / 1e9 + seconds;
  do
    {
      clock_gettime (CLOCK_MONOTONIC, &now);
      change ();
    }
  while ((double) now.tv_sec + (double) now.tv_nsec / 1e9 < end);
}

int
main (int argc, char **argv)
{
  pthread_t other;

  if (argc != 3)
    return 2;
  kind = argv[1];
  burning = pthread_self ();
  pretence.make_chain ();
  if (strcmp (kind, "changing") == 0)
    pthread_create (&other, NULL, change_always, NULL);
  run (atof (argv[2]));
  return 0;
}
