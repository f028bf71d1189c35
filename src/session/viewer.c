/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* viewer.c - shows a recording when it is over; see viewer.h. */

#include "config.h"

#include "viewer.h"

#include "base/error.h"
#include "export/format.h"
#include "fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Returns the first output of a format, NULL: a capture, that has a name; NULL if there is none. */
static const char *
find_output (char *const *outputs, const LuFormat *format)
{
  for (guint i = 0; outputs != NULL && outputs[i] != NULL; i++)
    if (strcmp (outputs[i], "-") != 0 && lu_format_of (outputs[i]) == format)
      return outputs[i];
  return NULL;
}

LuViewer
lu_viewer_choose (char *const *outputs)
{
  LuViewer viewer = { .page = find_output (outputs, lu_format_find ("html")),
                      .capture = find_output (outputs, NULL) };
  const char *program = viewer.page != NULL ? "xdg-open" : "sysprof";
  g_autofree char *path = g_find_program_in_path (program);

  if (path != NULL && (viewer.page != NULL || viewer.capture != NULL))
    viewer.program = program;
  return viewer;
}

/* The viewer outlives us and writes nothing to our terminal. */
G_GNUC_NORETURN static void
run_process (int fd, const LuViewer *viewer)
{
  const char *file = viewer->page != NULL ? viewer->page : viewer->capture;
  g_autofree char *safe = file[0] == '-' ? g_strconcat ("./", file, NULL) : g_strdup (file);
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);
  char byte;

  if (null_fd < 0 || dup2 (null_fd, STDIN_FILENO) < 0 || dup2 (null_fd, STDOUT_FILENO) < 0
      || dup2 (null_fd, STDERR_FILENO) < 0 || !lu_fetcher_become_caller () || setsid () < 0)
    _exit (1);
  while (read (fd, &byte, 1) != 1)
    if (errno != EINTR)
      _exit (0);
  execlp (viewer->program, viewer->program, safe, NULL);
  _exit (1);
}

int
lu_viewer_start (const LuViewer *viewer, GError **error)
{
  int fds[2];
  pid_t pid;

  if (viewer->program == NULL)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                           _ ("--open: nothing here shows the recording: install sysprof, or give "
                              "an output x.html and install xdg-open"));
      return -1;
    }
  if (pipe2 (fds, O_CLOEXEC) != 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "pipe: %s", g_strerror (errno));
      return -1;
    }
  pid = fork ();
  if (pid == 0)
    {
      close (fds[1]);
      run_process (fds[0], viewer);
    }
  close (fds[0]);
  if (pid > 0)
    return fds[1];
  close (fds[1]);
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fork: %s", g_strerror (errno));
  return -1;
}

void
lu_viewer_go (int fd)
{
  if (fd >= 0 && write (fd, "g", 1) != 1)
    g_debug ("the viewer's process is gone");
}
