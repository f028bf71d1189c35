/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-wait.c - the main thread while others work: signals, COMMAND's end, the status line.
 *
 * It waits for the end of the recording, then for the thread that ends it; a signal ends the step
 * under way, or else the user is told which step that is. */

#include "config.h"

#include "session-private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STATUS_INTERVAL_MS 500
/* Time after a signal until the user is told what the program waits for. */
#define PATIENCE_US      (800 * 1000)
#define TELL_INTERVAL_MS 100

void
lu_session_erase_status (LuSession *self)
{
  if (g_atomic_int_exchange (&self->status_shown, FALSE))
    fputs ("\r\033[K", stderr);
}

/* No status line is shown with COMMAND, which may write to the same terminal. */
static gboolean
shows_status (LuSession *self)
{
  return !self->options->quiet && self->options->command == NULL && isatty (STDERR_FILENO);
}

static void
show_status (LuSession *self)
{
  LuWriterProgress progress;
  LuCounters counters;
  double seconds = lu_pipeline_seconds (self->pipeline);

  if (!shows_status (self))
    return;
  lu_pipeline_get_progress (self->pipeline, &counters, &progress);
  fputs ("\r\033[K", stderr);
  fprintf (stderr, _ ("%.0f s  %.0f samples/s"), seconds,
           seconds > 0 ? (double) lu_counters_get (&counters, LU_COUNTER_TAKEN) / seconds : 0.0);
  if (progress.unwindable > 0)
    fprintf (stderr, _ ("  %.1f %% complete"), lu_writer_complete_percent (&progress));
  fprintf (stderr, _ ("  %" PRIu64 " lost"), lu_counters_get (&counters, LU_COUNTER_LOST_SAMPLES));
  g_atomic_int_set (&self->status_shown, TRUE);
}

static void
exit_by_signal (LuSession *self)
{
  lu_session_erase_status (self);
  _exit (128 + self->signal_number);
}

/* The first signal ends the recording, the second one the program; while names are looked up, a
 * signal leaves out the remaining names first. The files written by then can be read. */
static void
handle_interrupt (LuSession *self, const struct signalfd_siginfo *info)
{
  gboolean skips = g_atomic_int_get (&self->is_naming) && !g_atomic_int_get (&self->skips_names);

  self->signal_number = (int) info->ssi_signo;
  self->signal_us = g_get_monotonic_time ();
  if (skips)
    g_atomic_int_set (&self->skips_names, TRUE);
  else if (self->interrupted)
    exit_by_signal (self);
  /* Pass on what was sent to us alone; a terminal sends Ctrl-C to COMMAND as well. */
  else if (info->ssi_code != SI_KERNEL && self->command.pid > 0 && !self->command.reaped)
    kill (self->command.pid, (int) info->ssi_signo);
  self->is_last_signal = skips && self->interrupted;
  self->interrupted = TRUE;
}

static void
read_signals (LuSession *self)
{
  struct signalfd_siginfo info;

  while (lu_signals_read (&self->signals, &info))
    if (info.ssi_signo == SIGCHLD)
      lu_command_reap (&self->command, FALSE);
    else
      handle_interrupt (self, &info);
}

gboolean
lu_session_go_on_naming (guint done, guint total, gpointer user_data)
{
  LuSession *self = user_data;
  gint64 now = g_get_monotonic_time ();

  if (!g_atomic_int_get (&self->is_ending))
    return TRUE;
  if (!g_atomic_int_get (&self->is_naming))
    self->naming_us = now;
  g_atomic_int_set (&self->is_naming, TRUE);
  if (shows_status (self) && now - self->naming_us > STATUS_INTERVAL_MS * 1000)
    {
      fputs ("\r\033[K", stderr);
      fprintf (stderr, _ ("Names: %u of %u files (Ctrl-C leaves out the rest)"), done, total);
      g_atomic_int_set (&self->status_shown, TRUE);
    }
  return !g_atomic_int_get (&self->skips_names);
}

/* Nothing is shown before COMMAND, if there is one, has left the terminal. */
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
  g_atomic_int_set (&self->is_naming, TRUE);
  if (self->fetching_us == 0)
    self->fetching_us = now;
  if (shows_fetching (self) && now - self->fetching_us > STATUS_INTERVAL_MS * 1000)
    {
      lu_fetcher_print_progress (name, done, total);
      g_atomic_int_set (&self->status_shown, TRUE);
    }
  return !g_atomic_int_get (&self->skips_names);
}

/* Returns the time in ms until the duration is over or the status line is due; -1: no limit. */
static int
poll_timeout (LuSession *self)
{
  double left_ms = G_MAXINT;

  if (self->options->duration > 0)
    left_ms = ceil ((self->options->duration - lu_pipeline_seconds (self->pipeline)) * 1e3);
  if (shows_status (self))
    left_ms = MIN (left_ms, STATUS_INTERVAL_MS);
  return left_ms < G_MAXINT ? (int) MAX (left_ms, 0) : -1;
}

static gboolean
is_over (LuSession *self)
{
  return self->interrupted || self->command.reaped
         || (self->options->duration > 0
             && lu_pipeline_seconds (self->pipeline) >= self->options->duration);
}

void
lu_session_wait_for_the_end (LuSession *self)
{
  struct pollfd fds[] = { { .fd = self->signals.fd, .events = POLLIN },
                          { .fd = lu_pipeline_over_fd (self->pipeline), .events = POLLIN },
                          { .fd = self->helper.event_fd, .events = POLLIN },
                          { .fd = self->helper.reader_fd } };

  while (!is_over (self))
    {
      if (poll (fds, G_N_ELEMENTS (fds), poll_timeout (self)) < 0 && errno != EINTR)
        break;
      read_signals (self);
      if ((fds[1].revents & POLLIN) || fds[2].revents != 0 || fds[3].revents != 0)
        break;
      show_status (self);
    }
  lu_session_erase_status (self);
}

/* Waits for a signal or the descriptor (-1: none). A second after a signal, tells the user what is
 * still waited for. */
static void
wait_and_tell (LuSession *self, int fd, const char *what)
{
  struct pollfd fds[] = { { .fd = self->signals.fd, .events = POLLIN },
                          { .fd = fd, .events = POLLIN } };
  gboolean is_due = self->signal_us != 0 && g_get_monotonic_time () - self->signal_us > PATIENCE_US;

  if (is_due && self->is_last_signal)
    exit_by_signal (self);
  if (is_due)
    {
      lu_session_erase_status (self);
      fprintf (stderr, _ ("live-unwinder: waiting for %s; one more signal ends it at once\n"),
               what);
      self->signal_us = 0;
    }
  poll (fds, G_N_ELEMENTS (fds), self->signal_us != 0 ? TELL_INTERVAL_MS : STATUS_INTERVAL_MS);
  read_signals (self);
}

void
lu_session_wait_for_the_report (LuSession *self)
{
  eventfd_t n;

  while (eventfd_read (self->end_fd, &n) != 0)
    wait_and_tell (self, self->end_fd,
                   g_atomic_int_get (&self->is_naming)
                       ? _ ("the names of functions")
                       : _ ("the last samples to be written to the output"));
}

int
lu_session_wait_for_command (LuSession *self, int our_code)
{
  int code;

  while (!lu_command_reap (&self->command, FALSE))
    wait_and_tell (self, -1, _ ("COMMAND to end"));
  code = lu_command_exit_code (&self->command);
  return code != 0 ? code : our_code;
}
