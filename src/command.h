/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* command.h - the program that is started to be recorded.
 *
 * The child waits until it is told to go, so that events can be opened on it first; it is never
 * stopped or traced. */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Exit codes of our own, as env(1) and timeout(1) have them. */
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
} LuCommand;

/* Forks. argv: NULL-terminated, borrowed. outputs: NULL-terminated, what goes if argv
 * cannot be executed (lu_output_discard()). Call before any thread exists. */
gboolean lu_command_prepare (LuCommand *self, char *const *argv, char *const *outputs,
                             GError **error);
/* Lets the child execute. Returns 0, or the errno with which exec failed. */
int lu_command_go (LuCommand *self);
/* Reaps the child if it has ended (or, with `wait`, when it does). TRUE once it has. */
gboolean lu_command_reap (LuCommand *self, gboolean wait);
/* What to exit with once it is reaped: its own code, or 128 + the signal that ended it. */
int lu_command_exit_code (const LuCommand *self);
/* The child gives up if it has not been told to go; nothing of it stays. */
void lu_command_clear (LuCommand *self);
