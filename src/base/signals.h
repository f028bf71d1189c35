/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* signals.h - signals that ordinary code reads from a descriptor, so no handler runs.
 *
 * Main thread, before any other thread exists: threads inherit the mask. */

#pragma once

#include <glib.h>
#include <signal.h>
#include <sys/signalfd.h>

#define LU_N_SIGNALS 8 /* whose actions are changed */

typedef struct
{
  int fd;          /* owned, readable when a signal has come; -1: none is blocked */
  sigset_t before; /* the mask to restore */
  struct sigaction actions[LU_N_SIGNALS]; /* to restore */
} LuSignals;

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, and ignores SIGPIPE and SIGXFSZ, so that a write that
 * fails is an error like any other, and SIGUSR1 and SIGUSR2, which would end the program. */
gboolean lu_signals_block (LuSignals *self, GError **error);
/* For a step at the start that may wait for another process, such as the reader of a FIFO: a signal
 * interrupts the system calls of this thread (EINTR), again and again; after a second `text` is
 * written to standard error, and a second signal ends the program. text: borrowed until
 * lu_signals_keep_out(). Only one thread may do this at a time. */
void lu_signals_let_in (LuSignals *self, const char *text);
/* Returns the number of the signal that came since then; 0: none did. Any thread. */
int lu_signals_came (void);
/* Blocks signals again. Returns the number of the one that came; 0: none did. */
int lu_signals_keep_out (LuSignals *self);
/* Takes the next signal; FALSE if there is none. Does not wait. */
gboolean lu_signals_read (LuSignals *self, struct signalfd_siginfo *info);
/* Closes the descriptor; the signals stay blocked. */
void lu_signals_clear (LuSignals *self);
/* Restores mask and actions as they were before lu_signals_block(); for a child before exec. */
void lu_signals_give_back (const LuSignals *self);
/* Does the same and closes the descriptor. */
void lu_signals_restore (LuSignals *self);
