/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* command.h - the program that is started to be recorded.
 *
 * The child waits for a byte before it executes the program, so that events can be opened on it
 * first; it is never stopped or traced. Main thread. */

#pragma once

#include "base/signals.h"

#include <sys/resource.h>
#include <sys/types.h>

/* Our own exit codes, the same as those of env(1) and timeout(1). */
#define LU_EXIT_FAILED         125 /* live-unwinder failed */
#define LU_EXIT_NOT_EXECUTABLE 126 /* COMMAND was found but could not be started */
#define LU_EXIT_NOT_FOUND      127 /* COMMAND was not found */

typedef struct
{
  pid_t pid;     /* 0: none */
  int go_fd;     /* closing it without a byte makes the child give up */
  int status_fd; /* errno of a failed exec comes here; end of file when it succeeded */
  gboolean reaped;
  int wait_status;
  struct rusage usage; /* once it is reaped: of it and of the children that it has waited for */
} LuCommand;

/* Forks, so call it before any thread exists. argv: NULL-terminated, borrowed. outputs:
 * NULL-terminated; removed if argv cannot be executed (lu_output_discard()). signals: blocked; the
 * child gets them as we did. */
gboolean lu_command_prepare (LuCommand *self, char *const *argv, char *const *outputs,
                             const LuSignals *signals, GError **error);
/* Lets the child execute and waits until it does. Returns 0, or the errno with which exec failed; 0
 * also if a signal interrupts the wait. */
int lu_command_go (LuCommand *self);
/* Reaps the child if it has ended (or, with `wait`, when it does). TRUE once it has. */
gboolean lu_command_reap (LuCommand *self, gboolean wait);
/* Returns the CPU time of COMMAND and of all descendants that were waited for, in ns; 0 if there is
 * no COMMAND. Exact once it is reaped, of the descendants in
 * steps of 10 ms before. */
guint64 lu_command_cpu_ns (const LuCommand *self);
/* Returns the exit code for us once the child is reaped: its own, or 128 + the signal that ended
 * it.
 */
int lu_command_exit_code (const LuCommand *self);
/* Ends the child if it has not been told to go yet. */
void lu_command_clear (LuCommand *self);
