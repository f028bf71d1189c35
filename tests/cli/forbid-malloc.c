/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* forbid-malloc.c - preloaded into a recorder: from a given time on, a thread on the way from ring
 * to sink that allocates or frees is reported, and the program ends.
 *
 * FORBID_MALLOC_AFTER is the time in seconds since the program started; FORBID_MALLOC_THREADS are
 * the threads' names, separated by commas. */

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc (size_t size);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *old, size_t size);
extern void *__libc_memalign (size_t alignment, size_t size);

static double armed_at;
static char threads[256];

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

__attribute__ ((constructor)) static void
set_up (void)
{
  const char *after = getenv ("FORBID_MALLOC_AFTER"), *names = getenv ("FORBID_MALLOC_THREADS");
  void *frames[1];

  backtrace (frames, 1); /* loads everything it needs now */
  if (after == NULL || names == NULL)
    return;
  strncpy (threads, names, sizeof threads - 1);
  armed_at = now () + atof (after);
}

static void
say (const char *text)
{
  if (write (STDERR_FILENO, text, strlen (text)) < 0)
    _exit (99);
}

static void
check (const char *function)
{
  char name[17] = "";
  void *frames[32];

  if (armed_at == 0 || now () < armed_at || prctl (PR_GET_NAME, name) != 0
      || strstr (threads, name) == NULL)
    return;
  armed_at = 0;
  say ("forbidden: ");
  say (function);
  say (" in thread ");
  say (name);
  say ("\n");
  backtrace_symbols_fd (frames, backtrace (frames, 32), STDERR_FILENO);
  abort ();
}

void *
malloc (size_t size)
{
  check ("malloc");
  return __libc_malloc (size);
}

void *
calloc (size_t n, size_t size)
{
  check ("calloc");
  return __libc_calloc (n, size);
}

void *
realloc (void *old, size_t size)
{
  check ("realloc");
  return __libc_realloc (old, size);
}

int
posix_memalign (void **result, size_t alignment, size_t size)
{
  check ("posix_memalign");
  *result = __libc_memalign (alignment, size);
  return *result == NULL ? 12 : 0;
}
