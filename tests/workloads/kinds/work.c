/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* work.c - recursion, qsort() with a callback, formatted text and memory, for several C libraries
 * and flags. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WORDS 2000

static __attribute__ ((noinline)) int
fibonacci (int n)
{
  return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2);
}

static int
compare (const void *left, const void *right)
{
  return strcmp (*(char *const *) right, *(char *const *) left);
}

static __attribute__ ((noinline)) int
text (void)
{
  char *words[N_WORDS], number[32];
  int sum = 0;

  for (int i = 0; i < N_WORDS; i++)
    {
      snprintf (number, sizeof number, "word%d %.3f", i * 7919 % 1009, i / 7.0);
      words[i] = malloc (strlen (number) + 1);
      strcpy (words[i], number);
    }
  qsort (words, N_WORDS, sizeof *words, compare);
  for (int i = 0; i < N_WORDS; i++)
    {
      sum += (int) strtol (words[i] + 4, NULL, 10);
      free (words[i]);
    }
  return sum;
}

int
main (void)
{
  int sum = 0;

  for (int i = 0; i < 100; i++)
    sum += fibonacci (18) + text ();
  printf ("%d\n", sum);
  return 0;
}
