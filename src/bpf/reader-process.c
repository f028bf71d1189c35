/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader-process.c - see reader-process.h. */

#include "bpf/reader-process.h"

#include "base/fd.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before Linux 5.9, which has close_range(2). */
#define LAST_OLD_FD 65535

static int
compare (gconstpointer a, gconstpointer b)
{
  return *(const int *) a - *(const int *) b;
}

static void
close_range_or_each (guint first, guint last)
{
  if (first > last || close_range (first, last, 0) == 0)
    return;
  for (guint fd = first; fd <= MIN (last, LAST_OLD_FD); fd++)
    close ((int) fd);
}

/* Closes all descriptors but those of the socket and of the maps. */
static void
close_others (const LuBpfProgram *program, int fd)
{
  int kept[LU_BPF_N_MAPS + 1] = { fd };
  guint first = 0;

  for (LuBpfMapId i = 0; i < LU_BPF_N_MAPS; i++)
    kept[i + 1] = lu_bpf_program_map_fd (program, i);
  qsort (kept, G_N_ELEMENTS (kept), sizeof *kept, compare);
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    {
      if (kept[i] > 0)
        close_range_or_each (first, (guint) kept[i] - 1);
      first = (guint) kept[i] + 1;
    }
  close_range_or_each (first, G_MAXUINT);
}

G_GNUC_NORETURN static void
run_process (LuBpfProgram *program, int fd)
{
  char word;
  int result;

  signal (SIGINT, SIG_IGN); /* a terminal sends it to all its processes; the socket ends us */
  signal (SIGHUP, SIG_IGN);
  signal (SIGTERM, SIG_DFL);
  close_others (program, fd);
  prctl (PR_SET_NAME, "lu-interp", 0, 0, 0);
  lu_sandbox_restrict_loader (); /* without seccomp the recorder says so */
  if (read (fd, &word, 1) != 1)
    _exit (0);
  result = lu_bpf_program_read_interpreters (program);
  _exit (write (fd, &result, sizeof result) != sizeof result);
}

void
lu_bpf_reader_process_start (LuBpfReaderProcess *self, LuBpfProgram *program)
{
  int fds[2];

  *self = (LuBpfReaderProcess){ .fd = -1, .result = -EAGAIN };
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return;
  self->fd = fds[0];
  fcntl (self->fd, F_SETFL, O_NONBLOCK); /* the process waits at its own end */
  self->pid = fork ();
  if (self->pid == 0)
    run_process (program, fds[1]);
  close (fds[1]);
  if (self->pid > 0)
    self->result = 0;
  else
    lu_fd_clear (&self->fd);
}

void
lu_bpf_reader_process_go (LuBpfReaderProcess *self)
{
  if (!self->is_wanted && self->fd >= 0 && send (self->fd, "", 1, MSG_NOSIGNAL) != 1)
    g_debug ("functions of interpreters are not read: the process that loads has ended");
  self->is_wanted = TRUE;
}

void
lu_bpf_reader_process_await (const LuBpfReaderProcess *self, int ms)
{
  struct pollfd said = { .fd = self->fd, .events = POLLIN };

  if (self->is_wanted && self->fd >= 0)
    poll (&said, 1, ms);
}

int
lu_bpf_reader_process_result (LuBpfReaderProcess *self)
{
  ssize_t n = self->fd >= 0 ? read (self->fd, &self->result, sizeof self->result) : -1;
  gboolean has_ended = n == 0 || (n < 0 && self->fd >= 0 && errno != EAGAIN);

  if (has_ended)
    self->result = -ESRCH;
  if (n > 0 || has_ended)
    lu_fd_clear (&self->fd);
  return self->is_wanted ? self->result : 0;
}

void
lu_bpf_reader_process_stop (LuBpfReaderProcess *self)
{
  lu_fd_clear (&self->fd);
  if (self->pid > 0)
    {
      kill (self->pid, SIGKILL);
      waitpid (self->pid, NULL, WNOHANG);
    }
}
