/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader.c - see reader.h. */

#include "symbolize/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ANSWERS (64u << 20)
/* Bytes that a reader may allocate beyond the memory of this process. Mapped files do not count. */
#define MAX_MEMORY (G_GUINT64_CONSTANT (1) << 30)

static void
limit_memory (void)
{
  guint64 pages = 0;
  struct rlimit limit;
  char text[256];
  int fd = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t size = fd >= 0 ? read (fd, text, sizeof text - 1) : 0;

  if (fd >= 0)
    close (fd);
  text[MAX (size, 0)] = 0;
  if (sscanf (text, "%*u %*u %*u %*u %*u %" G_GINT64_MODIFIER "u", &pages) != 1)
    return;
  limit.rlim_cur = limit.rlim_max = pages * (guint64) sysconf (_SC_PAGESIZE) + MAX_MEMORY;
  setrlimit (RLIMIT_DATA, &limit);
}

/* Runs in the new process. Ctrl-C ends it, and so does the end of its parent. */
static void
be_reader (LuReaderFunc func, gconstpointer data, int output)
{
  const struct rlimit no_core = { 0, 0 };
  sigset_t none;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  setrlimit (RLIMIT_CORE, &no_core);
  limit_memory ();
  for (int number = 1; number < NSIG; number++)
    if (number != SIGPIPE)
      signal (number, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  func (data, output);
  _exit (0);
}

/* Reads until the end of the stream; FALSE if the time is up first, or if there are too many bytes.
 */
static gboolean
read_answers (int fd, GByteArray *answers, gint64 end_us)
{
  for (;;)
    {
      gint64 left_us = end_us - g_get_monotonic_time ();
      struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
      gsize filled = answers->len;
      gssize size;

      if (left_us <= 0 || filled >= MAX_ANSWERS)
        return FALSE;
      if (poll (&poll_fd, 1, (int) MIN (left_us / 1000 + 1, G_MAXINT)) <= 0)
        continue;
      g_byte_array_set_size (answers, (guint) filled + 65536);
      size = read (fd, answers->data + filled, 65536);
      g_byte_array_set_size (answers, (guint) (filled + (gsize) MAX (size, 0)));
      if (size == 0 || (size < 0 && errno != EINTR))
        return TRUE;
    }
}

LuReaderResult
lu_reader_run (LuReaderFunc func, gconstpointer data, gint64 end_us, GByteArray *answers)
{
  gboolean has_ended;
  int pipe_fds[2], status = 0;
  pid_t reader;

  if (pipe2 (pipe_fds, O_CLOEXEC) != 0)
    return LU_READER_BROKEN;
  reader = fork ();
  if (reader == 0)
    be_reader (func, data, pipe_fds[1]);
  close (pipe_fds[1]);
  has_ended = reader > 0 && read_answers (pipe_fds[0], answers, end_us);
  close (pipe_fds[0]);
  if (reader < 0)
    return LU_READER_BROKEN;
  if (!has_ended)
    kill (reader, SIGKILL);
  while (waitpid (reader, &status, 0) < 0 && errno == EINTR)
    ;
  if (!has_ended)
    return answers->len < MAX_ANSWERS ? LU_READER_TOO_SLOW : LU_READER_TOO_LARGE;
  if (WIFSIGNALED (status) && WTERMSIG (status) == SIGINT)
    return LU_READER_ENDED;
  return WIFEXITED (status) && WEXITSTATUS (status) == 0 ? LU_READER_READ : LU_READER_BROKEN;
}
