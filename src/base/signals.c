/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* signals.c - signals by a descriptor; see signals.h. */

#include "signals.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>

/* Interval at which a signal interrupts, and how many times until the user is told. */
#define TICK_US (100 * 1000)
#define TICKS   9

/* The last four are ignored, the others interrupt the start. */
static const int numbers[LU_N_SIGNALS] = { SIGALRM, SIGINT,  SIGTERM, SIGHUP,
                                           SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2 };
#define N_INTERRUPTING 4

gboolean
lu_signals_block (LuSignals *self, GError **error)
{
  sigset_t set;

  for (guint i = 0; i < LU_N_SIGNALS; i++)
    sigaction (numbers[i], NULL, &self->actions[i]);
  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  sigaddset (&set, SIGHUP);
  sigaddset (&set, SIGCHLD);
  sigprocmask (SIG_BLOCK, &set, &self->before);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN);
  signal (SIGUSR1, SIG_IGN);
  signal (SIGUSR2, SIG_IGN);
  self->fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (self->fd >= 0)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "signalfd: %s", g_strerror (errno));
  return FALSE;
}

/* A handler has no other place for what it does. */
static const char *volatile waiting_text;
static volatile sig_atomic_t came, n_ticks;

static void
interrupt (int number)
{
  const struct itimerval tick = { .it_interval.tv_usec = TICK_US, .it_value.tv_usec = TICK_US };
  int saved_errno = errno;

  if (number == SIGALRM)
    {
      if (++n_ticks == TICKS && write (STDERR_FILENO, waiting_text, strlen (waiting_text)) < 0)
        n_ticks = TICKS;
    }
  else if (came != 0)
    _exit (128 + number);
  else
    {
      came = number;
      setitimer (ITIMER_REAL, &tick, NULL);
    }
  errno = saved_errno;
}

/* A signal that was ignored before we started, for example by nohup, stays ignored. */
static void
let_in (const LuSignals *self, gboolean yes)
{
  const struct sigaction action = { .sa_handler = interrupt };
  sigset_t set;

  sigemptyset (&set);
  for (guint i = 0; i < N_INTERRUPTING; i++)
    {
      gboolean is_ours = numbers[i] == SIGALRM || self->actions[i].sa_handler != SIG_IGN;

      sigaddset (&set, numbers[i]);
      sigaction (numbers[i], yes && is_ours ? &action : &self->actions[i], NULL);
    }
  pthread_sigmask (yes ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

void
lu_signals_let_in (LuSignals *self, const char *text)
{
  waiting_text = text;
  came = n_ticks = 0;
  let_in (self, TRUE);
}

int
lu_signals_came (void)
{
  return came;
}

int
lu_signals_keep_out (LuSignals *self)
{
  const struct itimerval never = { 0 };

  setitimer (ITIMER_REAL, &never, NULL);
  let_in (self, FALSE);
  return came;
}

gboolean
lu_signals_read (LuSignals *self, struct signalfd_siginfo *info)
{
  return read (self->fd, info, sizeof *info) == sizeof *info;
}

void
lu_signals_clear (LuSignals *self)
{
  lu_fd_clear (&self->fd);
}

void
lu_signals_give_back (const LuSignals *self)
{
  for (guint i = 0; i < LU_N_SIGNALS; i++)
    sigaction (numbers[i], &self->actions[i], NULL);
  sigprocmask (SIG_SETMASK, &self->before, NULL);
}

void
lu_signals_restore (LuSignals *self)
{
  lu_signals_clear (self);
  lu_signals_give_back (self);
}
