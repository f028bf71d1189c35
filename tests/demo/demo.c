/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors
 *
 * demo.c - a program worth profiling, for tools/quickstart and tests/peers/sysprof-chroot.
 * It counts words in generated text for a second or two of CPU time: a few levels of calls, one hot
 * function (hash_word), a second one in a callback from libc (compare_words, under qsort), and some
 * time in the kernel (read_noise). Compiled with -O2 and without frame pointers; the calls below
 * main are kept by noinline so that the expected tree is known. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__ ((noinline, noclone))

enum
{
  N_WORDS = 20000,
  N_BUCKETS = 4096,
  NOISE_BYTES = 1 << 20
};

struct word
{
  char text[16];
  uint32_t hash;
};

static struct word words[N_WORDS];
static uint32_t buckets[N_BUCKETS];
static char noise[NOISE_BYTES];
static volatile uint32_t sink;

static double
cpu_seconds (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &ts);
  return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}

static NOINLINE void
make_words (uint32_t seed)
{
  for (unsigned i = 0; i < N_WORDS; i++)
    {
      seed = seed * 1664525u + 1013904223u;
      snprintf (words[i].text, sizeof words[i].text, "w%07x", seed >> 8);
    }
}

/* The hot function: deliberately slow. */
static NOINLINE uint32_t
hash_word (const char *text)
{
  uint32_t hash = 2166136261u;

  for (int round = 0; round < 24; round++)
    for (const char *p = text; *p != '\0'; p++)
      hash = (hash ^ (uint8_t) *p) * 16777619u;
  return hash;
}

static NOINLINE void
count_words (void)
{
  for (unsigned i = 0; i < N_WORDS; i++)
    {
      words[i].hash = hash_word (words[i].text);
      buckets[words[i].hash % N_BUCKETS]++;
    }
}

static NOINLINE int
compare_words (const void *a, const void *b)
{
  const struct word *x = a, *y = b;

  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static NOINLINE void
sort_words (void)
{
  qsort (words, N_WORDS, sizeof words[0], compare_words);
  sink += words[0].hash;
}

static NOINLINE void
read_noise (int fd)
{
  for (int i = 0; i < 16; i++)
    if (read (fd, noise, sizeof noise) > 0)
      sink += (uint8_t) noise[i];
}

static NOINLINE void
process_chapter (uint32_t seed, int noise_fd)
{
  make_words (seed);
  count_words ();
  sort_words ();
  read_noise (noise_fd);
}

static NOINLINE void
process_book (double seconds)
{
  int fd = open ("/dev/zero", O_RDONLY | O_CLOEXEC);

  for (uint32_t chapter = 0; cpu_seconds () < seconds; chapter++)
    process_chapter (chapter, fd);
  close (fd);
}

int
main (int argc, char **argv)
{
  double seconds = argc > 1 ? strtod (argv[1], NULL) : 2;

  process_book (seconds);
  sink += buckets[0];
  printf ("demo: %.2f s of CPU time used\n", cpu_seconds ());
  return EXIT_SUCCESS;
}
