/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* command.c - starts COMMAND; see command.h. */

#include "command.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "capture/output-file.h"
#include "input/cpu-clocks.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

static void
run_child (int go_fd, int status_fd, char *const *argv, char *const *outputs,
           const LuSignals *signals)
{
  int exec_errno;
  char byte;

  lu_signals_give_back (signals);
  if (read (go_fd, &byte, 1) != 1)
    _exit (LU_EXIT_FAILED);
  execvp (argv[0], argv);
  exec_errno = errno;
  /* The recorder has given up the rights that this may need. */
  for (guint i = 0; outputs[i] != NULL; i++)
    lu_output_discard (outputs[i]);
  if (write (status_fd, &exec_errno, sizeof exec_errno) < 0)
    _exit (LU_EXIT_FAILED);
  _exit (exec_errno == ENOENT ? LU_EXIT_NOT_FOUND : LU_EXIT_NOT_EXECUTABLE);
}

gboolean
lu_command_prepare (LuCommand *self, char *const *argv, char *const *outputs,
                    const LuSignals *signals, GError **error)
{
  int go[2], status[2];

  *self = (LuCommand){ .go_fd = -1, .status_fd = -1 };
  if (pipe2 (go, O_CLOEXEC) < 0 || pipe2 (status, O_CLOEXEC) < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "pipe: %s", g_strerror (errno));
      return FALSE;
    }
  self->pid = fork ();
  if (self->pid == 0)
    {
      close (go[1]);
      run_child (go[0], status[1], argv, outputs, signals);
    }
  close (go[0]);
  close (status[1]);
  self->go_fd = go[1];
  self->status_fd = status[0];
  if (self->pid < 0)
    {
      self->pid = 0;
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fork: %s", g_strerror (errno));
      return FALSE;
    }
  return TRUE;
}

int
lu_command_go (LuCommand *self)
{
  int exec_errno = 0;

  if (write (self->go_fd, "g", 1) != 1)
    return errno;
  lu_fd_clear (&self->go_fd);
  if (read (self->status_fd, &exec_errno, sizeof exec_errno) != sizeof exec_errno)
    exec_errno = 0;
  lu_fd_clear (&self->status_fd);
  return exec_errno;
}

gboolean
lu_command_reap (LuCommand *self, gboolean wait)
{
  pid_t pid;

  if (self->pid == 0 || self->reaped)
    return self->reaped;
  do
    pid = wait4 (self->pid, &self->wait_status, wait ? 0 : WNOHANG, &self->usage);
  while (pid < 0 && errno == EINTR);
  self->reaped = pid == self->pid;
  return self->reaped;
}

guint64
lu_command_cpu_ns (const LuCommand *self)
{
  if (self->pid == 0)
    return 0;
  return self->reaped ? lu_rusage_ns (&self->usage) : lu_cpu_clocks_of_process (self->pid);
}

int
lu_command_exit_code (const LuCommand *self)
{
  if (WIFSIGNALED (self->wait_status))
    return 128 + WTERMSIG (self->wait_status);
  return WEXITSTATUS (self->wait_status);
}

void
lu_command_clear (LuCommand *self)
{
  gboolean waiting = self->pid != 0 && self->go_fd >= 0;

  lu_fd_clear (&self->go_fd);
  lu_fd_clear (&self->status_fd);
  if (waiting)
    lu_command_reap (self, TRUE);
}
