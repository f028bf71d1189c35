/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* helper.c - the descriptors of helper mode; see helper.h.
 *
 * To stop, Sysprof's client writes to its event descriptor, reads nothing more and closes the pipe
 * when it is destroyed; its daemon only logs our exit status. So there is little time after the
 * stop, and the exit status is always 0. */

#include "config.h"

#include "helper.h"

#include "base/error.h"
#include "base/fd.h"
#include "input/source-inherited.h"
#include "capture/syscap.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/time.h>

/* The worker may hang in a file system that does not answer. Longer than the writer takes. */
#define LAST_RESORT_S 31

LuSource *
lu_helper_open_source (const LuOptions *options, GError **error)
{
  const LuInheritedSourceOptions source_options = { .events = options->helper.events,
                                                    .stack_size = options->stack_size,
                                                    .own_sideband = TRUE };

  return lu_source_inherited_new (&source_options, error);
}

static gboolean
check_open (int fd, const char *option, gboolean for_writing, GError **error)
{
  int flags = fd >= 0 ? fcntl (fd, F_GETFL) : 0;

  if (flags < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("%s=%d: %s"), option, fd,
                   g_strerror (errno));
      return FALSE;
    }
  if (!for_writing || (flags & O_ACCMODE) != O_RDONLY)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID, _ ("%s=%d: not open for writing"), option, fd);
  return FALSE;
}

static gboolean
empty_if_regular (int fd, GError **error)
{
  struct stat info;

  if (fstat (fd, &info) == 0 && S_ISREG (info.st_mode)
      && (ftruncate (fd, 0) != 0 || lseek (fd, 0, SEEK_SET) != 0))
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, _ ("--capture-fd=%d: %s"), fd,
                   g_strerror (errno));
      return FALSE;
    }
  return TRUE;
}

gboolean
lu_helper_open (LuHelper *self, const LuHelperOptions *options, int *output_fd, GError **error)
{
  if (!check_open (options->capture_fd, "--capture-fd", TRUE, error)
      || !check_open (options->event_fd, "--event-fd", FALSE, error)
      || !check_open (options->kallsyms_fd, "--kallsyms", FALSE, error)
      || !empty_if_regular (options->capture_fd, error))
    return FALSE;
  self->event_fd = options->event_fd;
  self->reader_fd = fcntl (options->capture_fd, F_DUPFD_CLOEXEC, 0);
  self->stop_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->reader_fd < 0 || self->stop_fd < 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "eventfd: %s", g_strerror (errno));
      return FALSE;
    }
  *output_fd = options->capture_fd;
  return TRUE;
}

void
lu_helper_clear (LuHelper *self)
{
  lu_fd_clear (&self->stop_fd);
  lu_fd_clear (&self->reader_fd);
}

LuSink *
lu_helper_sink (LuHelper *self, const LuHelperOptions *options, int output_fd)
{
  g_autofree char *kallsyms = NULL;

  if (options->kallsyms_fd >= 0)
    kallsyms = g_strdup_printf ("/proc/self/fd/%d", options->kallsyms_fd);
  return lu_syscap_sink_new_for_client (output_fd, kallsyms, self->stop_fd);
}

static void
end_now (int signal_number)
{
  _exit (0);
}

void
lu_helper_stop (LuHelper *self)
{
  const struct sigaction action = { .sa_handler = end_now };
  const struct itimerval timer = { .it_value = { .tv_sec = LAST_RESORT_S } };

  if (self->stop_fd < 0)
    return;
  eventfd_write (self->stop_fd, 1);
  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &timer, NULL);
}
