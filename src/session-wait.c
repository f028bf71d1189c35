/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-wait.c - what the main thread does meanwhile: signals, COMMAND's end, the status line.
 *
 * It waits for the end of the recording, then for names and files to be found; a signal ends what
 * goes on then. Signals come by signal_fd only, so all of this is ordinary code. */

#include "config.h"

#include "session-private.h"

#include "base/error.h"
#include "fetcher.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STATUS_INTERVAL_MS 500

gboolean
lu_session_block_signals (LuSession *self, GError **error)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  sigaddset (&set, SIGHUP);
  sigaddset (&set, SIGCHLD);
  sigprocmask (SIG_BLOCK, &set, NULL);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN); /* a file over the limit is one that cannot be written */
  self->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  self->ended_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  self->failed_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->signal_fd >= 0 && self->ended_fd >= 0 && self->failed_fd >= 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "signalfd: %s", g_strerror (errno));
  return FALSE;
}

void
lu_session_erase_status (LuSession *self)
{
  if (self->status_shown)
    fputs ("\r\033[K", stderr);
  self->status_shown = FALSE;
}

/* Only on a terminal that COMMAND does not write to as well. */
static gboolean
shows_status (LuSession *self)
{
  return !self->options->quiet && self->options->command == NULL && isatty (STDERR_FILENO);
}

static void
show_status (LuSession *self)
{
  LuWriterProgress progress;
  LuDrainProgress drain;
  double seconds = (double) (g_get_monotonic_time () - self->start_us) / 1e6;

  if (!shows_status (self))
    return;
  lu_writer_get_progress (self->writer, &progress);
  lu_drain_get_progress (self->drain, &drain);
  fputs ("\r\033[K", stderr);
  fprintf (stderr, _ ("%.0f s  %.0f samples/s  %.1f %% complete  %" PRIu64 " lost"), seconds,
           seconds > 0 ? (double) drain.taken / seconds : 0.0,
           progress.walked > 0 ? 100.0 * (double) progress.complete / (double) progress.walked
                               : 100.0,
           drain.lost_samples);
  self->status_shown = TRUE;
}

/* The first signal ends the recording, the second one the program; what is written by then is
 * readable. */
static void
handle_interrupt (LuSession *self, const struct signalfd_siginfo *info)
{
  if (self->naming_us != 0)
    {
      g_atomic_int_set (&self->skips_names, TRUE);
      return;
    }
  if (self->interrupted)
    {
      lu_session_erase_status (self);
      _exit (128 + (int) info->ssi_signo);
    }
  self->interrupted = TRUE;
  /* A terminal sends Ctrl-C to COMMAND as well; what somebody sent to us alone is passed on. */
  if (info->ssi_code != SI_KERNEL && self->command.pid > 0 && !self->command.reaped)
    kill (self->command.pid, (int) info->ssi_signo);
}

static void
read_signals (LuSession *self)
{
  struct signalfd_siginfo info;

  while (read (self->signal_fd, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGCHLD)
      lu_command_reap (&self->command, FALSE);
    else
      handle_interrupt (self, &info);
}

/* Names are looked for when the recording is over, or a file of it. A signal after the recording
 * leaves out the rest of them. */
gboolean
lu_session_go_on_naming (guint done, guint total, gpointer user_data)
{
  LuSession *self = user_data;
  gint64 now = g_get_monotonic_time ();

  if (g_thread_self () != self->main_thread)
    return !g_atomic_int_get (&self->skips_names);
  if (self->naming_us == 0)
    self->naming_us = now;
  read_signals (self);
  if (shows_status (self) && now - self->naming_us > STATUS_INTERVAL_MS * 1000)
    {
      fputs ("\r\033[K", stderr);
      fprintf (stderr, _ ("Names: %u of %u files (Ctrl-C leaves out the rest)"), done, total);
      self->status_shown = TRUE;
    }
  return !g_atomic_int_get (&self->skips_names);
}

/* The last files are finished by a thread of their own. */
void
lu_session_wait_for_files (gpointer user_data)
{
  LuSession *self = user_data;

  if (self->naming_us == 0)
    self->naming_us = g_get_monotonic_time ();
  read_signals (self);
}

/* COMMAND, if there was one, has the terminal no more. */
static gboolean
shows_fetching (LuSession *self)
{
  return !self->options->quiet && isatty (STDERR_FILENO)
         && (self->options->command == NULL || self->command.reaped);
}

gboolean
lu_session_go_on_fetching (const char *name, guint64 done, guint64 total, gpointer user_data)
{
  LuSession *self = user_data;
  gint64 now = g_get_monotonic_time ();

  if (name == NULL)
    {
      lu_session_erase_status (self);
      return TRUE;
    }
  if (self->naming_us == 0)
    self->naming_us = now;
  if (self->fetching_us == 0)
    self->fetching_us = now;
  read_signals (self);
  if (shows_fetching (self) && now - self->fetching_us > STATUS_INTERVAL_MS * 1000)
    {
      lu_fetcher_print_progress (name, done, total);
      self->status_shown = TRUE;
    }
  return !g_atomic_int_get (&self->skips_names);
}

static int
poll_timeout (LuSession *self)
{
  gint64 left_ms = G_MAXINT, end_us;

  if (self->options->duration > 0)
    {
      end_us = self->start_us + (gint64) (self->options->duration * 1e6);
      left_ms = CLAMP ((end_us - g_get_monotonic_time () + 999) / 1000, 0, G_MAXINT);
    }
  if (shows_status (self))
    left_ms = MIN (left_ms, STATUS_INTERVAL_MS);
  return left_ms == G_MAXINT ? -1 : (int) left_ms;
}

static gboolean
is_over (LuSession *self)
{
  double seconds = (double) (g_get_monotonic_time () - self->start_us) / 1e6;

  return self->interrupted || self->command.reaped
         || (self->options->duration > 0 && seconds >= self->options->duration);
}

void
lu_session_wait_for_the_end (LuSession *self)
{
  struct pollfd fds[] = { { .fd = self->signal_fd, .events = POLLIN },
                          { .fd = self->ended_fd, .events = POLLIN },
                          { .fd = self->failed_fd, .events = POLLIN },
                          { .fd = self->helper.event_fd, .events = POLLIN },
                          { .fd = self->helper.reader_fd } };

  while (!is_over (self))
    {
      if (poll (fds, G_N_ELEMENTS (fds), poll_timeout (self)) < 0 && errno != EINTR)
        break;
      read_signals (self);
      if (((fds[1].revents | fds[2].revents) & POLLIN) || fds[3].revents != 0
          || fds[4].revents != 0)
        break;
      show_status (self);
    }
  lu_session_erase_status (self);
}

int
lu_session_wait_for_command (LuSession *self, int our_code)
{
  struct pollfd fd = { .fd = self->signal_fd, .events = POLLIN };
  int code;

  while (!lu_command_reap (&self->command, FALSE))
    {
      poll (&fd, 1, STATUS_INTERVAL_MS);
      read_signals (self);
    }
  code = lu_command_exit_code (&self->command);
  return code != 0 ? code : our_code;
}
