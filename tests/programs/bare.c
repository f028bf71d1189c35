/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bare.c - a program to be built without any CFI: recursion, a callback from the C library, a
 * switch, a frame of variable size, tail calls, calls through pointers, a thread and a signal
 * handler. Runs for the number of seconds of its argument. */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__ ((noinline)) static int
fibonacci (int n)
{
  return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2);
}

static int
compare (const void *a, const void *b)
{
  int one = *(const int *) a, other = *(const int *) b;

  sink += (unsigned) one;
  return one < other ? -1 : one > other;
}

__attribute__ ((noinline)) static void
sort (int n)
{
  int *numbers = malloc ((size_t) n * sizeof *numbers);

  for (int i = 0; i < n; i++)
    numbers[i] = i * 7919 % 10007;
  qsort (numbers, (size_t) n, sizeof *numbers, compare);
  sink += (unsigned) numbers[n / 2];
  free (numbers);
}

__attribute__ ((noinline)) static void
text (int n)
{
  char line[200];

  for (int i = 0; i < n; i++)
    {
      snprintf (line, sizeof line, "%d %s %f", i, "hello", i * 1.5);
      sink += strlen (line);
    }
}

__attribute__ ((noinline)) static int
choose (int n)
{
  switch (n % 11)
    {
    case 0:
      return fibonacci (3);
    case 1:
      return fibonacci (4);
    case 2:
      return n * 3;
    case 3:
      return fibonacci (5) + 1;
    case 4:
      return n ^ 77;
    case 5:
      sort (10);
      return 1;
    case 6:
      return fibonacci (2);
    case 7:
      return 99;
    case 8:
      text (1);
      return 3;
    default:
      return 12;
    }
}

__attribute__ ((noinline)) static int
variable (int n)
{
  int numbers[n];

  for (int i = 0; i < n; i++)
    numbers[i] = fibonacci (i % 7);
  return numbers[n / 2] + numbers[n - 1];
}

static int (*const functions[]) (int) = { choose, variable, fibonacci };

__attribute__ ((noinline)) static int
jump (int n)
{
  if ((n & 1) != 0)
    return variable (n + 3);
  return functions[n % 3](n % 15 + 1);
}

static void
handle (int number)
{
  sink += (unsigned) fibonacci (12);
}

static void *
work (void *data)
{
  time_t end = *(time_t *) data;

  while (time (NULL) < end)
    {
      for (int i = 0; i < 200; i++)
        sink += (unsigned) (jump (i) + choose (i));
      sort (2000);
      text (100);
      raise (SIGUSR1);
    }
  return NULL;
}

int
main (int argc, char **argv)
{
  time_t end = time (NULL) + (argc > 1 ? atoi (argv[1]) : 2) + 1;
  pthread_t thread;

  signal (SIGUSR1, handle);
  if (pthread_create (&thread, NULL, work, &end) != 0)
    return 1;
  work (&end);
  pthread_join (thread, NULL);
  return 0;
}
