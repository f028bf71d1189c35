/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* hold-call.c - preloaded into the program: a call never returns, and keeps a CPU busy.
 *
 * HOLD_CALL is the call: deflate, which compresses, or pread64, which reads what is in files.
 * HOLD_THREAD is the name of a thread; without it each thread is meant. "held" is written to
 * standard error first. So a test is sure of what the program is doing, however fast the machine
 * is. */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct z_stream_s;

int deflate (struct z_stream_s *stream, int flush);

/* The filter of system calls refuses PR_GET_NAME. */
static int
is_thread (const char *name)
{
  char comm[32] = "";
  int fd = open ("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC);
  ssize_t n = read (fd, comm, sizeof comm - 1);

  close (fd);
  return n > 0 && strncmp (comm, name, strlen (name)) == 0;
}

static void
hold (const char *call)
{
  const char *wanted = getenv ("HOLD_CALL"), *thread = getenv ("HOLD_THREAD");

  if (wanted == NULL || strcmp (wanted, call) != 0 || (thread != NULL && !is_thread (thread))
      || write (STDERR_FILENO, "held\n", 5) != 5)
    return;
  for (volatile unsigned long n = 0;; n++)
    ;
}

int
deflate (struct z_stream_s *stream, int flush)
{
  int (*next) (struct z_stream_s *, int);

  *(void **) &next = dlsym (RTLD_NEXT, "deflate");
  hold ("deflate");
  return next (stream, flush);
}

ssize_t
pread64 (int fd, void *bytes, size_t size, off64_t offset)
{
  ssize_t (*next) (int, void *, size_t, off64_t);

  *(void **) &next = dlsym (RTLD_NEXT, "pread64");
  hold ("pread64");
  return next (fd, bytes, size, offset);
}
