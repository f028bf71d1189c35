/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-file.c - see copy-file.h. */

#include "base/copy-file.h"

#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_BYTES   (256u << 20)
#define CHUNK       (64u << 10)
#define PATIENCE_MS 500
#define TOTAL_US    (5 * G_USEC_PER_SEC)
/* After this many, nobody is asked any more. */
#define MAX_SILENT 4
/* Descriptors of the new process. Its output takes a byte for each part that was copied, and at the
 * end the file's fstat(). */
enum
{
  COPY,
  OUTPUT,
  GIVEN,
  N_KEPT
};

static dev_t silent[MAX_SILENT];
static gint n_silent; /* atomic */

static gboolean
is_silent (dev_t device)
{
  gint n = g_atomic_int_get (&n_silent);

  for (gint i = 0; i < MIN (n, MAX_SILENT); i++)
    if (silent[i] == device)
      return TRUE;
  return n >= MAX_SILENT;
}

static void
note_silent (dev_t device)
{
  gint i = g_atomic_int_add (&n_silent, 1);

  if (i < MAX_SILENT)
    silent[i] = device;
}

guint
lu_copy_n_silent (void)
{
  return (guint) g_atomic_int_get (&n_silent);
}

/* The process */

static void
keep_only (int fds[N_KEPT])
{
  for (int i = 0; i < N_KEPT; i++)
    fds[i] = fcntl (fds[i], F_DUPFD, N_KEPT);
  for (int i = 0; i < N_KEPT; i++)
    if (dup2 (fds[i], i) != i)
      _exit (1);
  lu_fd_close_from (N_KEPT);
}

static gboolean
copy_bytes (int fd)
{
  static char chunk[CHUNK];
  gsize size = 0;
  gssize n;

  while ((n = read (fd, chunk, sizeof chunk)) > 0 && (size += (gsize) n) <= MAX_BYTES)
    if (!lu_fd_write_all (COPY, chunk, (gsize) n) || write (OUTPUT, "", 1) != 1)
      return FALSE;
  return n == 0;
}

/* Closing a file may hang, too, so that comes before the answer. */
G_GNUC_NORETURN static void
run_process (const LuCopying *copying, int fds[N_KEPT])
{
  struct stat info;
  int fd;

  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  keep_only (fds);
  fd = copying->open (GIVEN, copying->data, &info);
  if (fd >= 0 && copy_bytes (fd) && close (fd) == 0)
    _exit (write (OUTPUT, &info, sizeof info) < 0);
  _exit (1);
}

/* The others */

/* Returns FALSE if there is no copy; sets errno to ETIMEDOUT if the process has to be left behind.
 */
static gboolean
wait_for_copy (int fd, struct stat *info)
{
  gint64 end = g_get_monotonic_time () + TOTAL_US;
  struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

  while (g_get_monotonic_time () < end)
    {
      int n_ready = poll (&poll_fd, 1, PATIENCE_MS);
      gssize n;

      if (n_ready < 0 && errno == EINTR)
        continue;
      if (n_ready <= 0)
        break;
      errno = 0;
      n = read (fd, info, sizeof *info);
      if (n != 1)
        return n == sizeof *info;
    }
  errno = ETIMEDOUT;
  return FALSE;
}

static gboolean
run (const LuCopying *copying, int copy, struct stat *info)
{
  gboolean is_copied, is_over;
  int pipe_fds[2];
  pid_t pid;

  if (pipe2 (pipe_fds, O_CLOEXEC | O_DIRECT) != 0) /* its packets are what was written at once */
    return FALSE;
  pid = fork ();
  if (pid == 0)
    run_process (copying, (int[]){ copy, pipe_fds[1], copying->fd });
  close (pipe_fds[1]);
  is_copied = pid > 0 && wait_for_copy (pipe_fds[0], info);
  is_over = is_copied || errno != ETIMEDOUT;
  close (pipe_fds[0]);
  if (!is_over)
    {
      kill (pid, SIGKILL);
      note_silent (copying->device);
    }
  if (pid > 0)
    waitpid (pid, NULL, is_over ? 0 : WNOHANG);
  return is_copied;
}

int
lu_copy_file (const LuCopying *copying, struct stat *info)
{
  lu_autofd copy = -1;

  if (is_silent (copying->device))
    return -1;
  copy = memfd_create ("copy", MFD_CLOEXEC);
  return copy >= 0 && run (copying, copy, info) ? lu_fd_steal (&copy) : -1;
}
