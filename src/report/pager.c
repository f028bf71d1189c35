/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pager.c - see pager.h. */

#include "pager.h"

#include "base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

static void
wait_for_pager (void)
{
  close (STDOUT_FILENO);
  while (waitpid (pager, NULL, 0) < 0 && errno == EINTR)
    ;
}

static void
finish (void)
{
  fflush (stdout);
  wait_for_pager ();
}

/* The pager stays until its user ends it, and so do we: the shell would read its keys. */
static void
interrupted (int number)
{
  wait_for_pager ();
  _exit (128 + number);
}

static const char *
choose_pager (void)
{
  const char *command = g_getenv ("LIVE_UNWINDER_PAGER");

  if (command == NULL)
    command = g_getenv ("PAGER");
  return command != NULL ? command : "less";
}

static void
run_pager (const char *command, const int ends[2])
{
  dup2 (ends[0], STDIN_FILENO);
  setenv ("LESS", "FRX", 0);
  execlp ("sh", "sh", "-c", command, NULL);
  _exit (127);
}

void
lu_pager_start (void)
{
  const char *command = choose_pager ();
  int ends[2];

  if (!isatty (STDOUT_FILENO) || command[0] == 0 || g_str_equal (command, "cat")
      || pipe2 (ends, O_CLOEXEC) != 0)
    return;
  lu_terminal_keep_width ();
  pager = fork ();
  if (pager == 0)
    run_pager (command, ends);
  if (pager > 0)
    {
      dup2 (ends[1], STDOUT_FILENO);
      signal (SIGINT, interrupted);
      signal (SIGPIPE, SIG_IGN); /* the pager need not read everything */
      atexit (finish);
    }
  close (ends[0]);
  close (ends[1]);
}
