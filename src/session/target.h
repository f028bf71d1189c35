/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* target.h - opens the sampling source for the processes, threads or command to record, or for the
 * whole system. Main thread, before recording. */

#pragma once

#include "command.h"
#include "options.h"

typedef struct
{
  GArray *pids; /* of pid_t: processes to follow; NULL: all */
  GArray *tids; /* of pid_t: only these threads of them; NULL: all */
} LuTarget;

/* Opens the sampling source for the targets that the options name. With privilege, it samples whole
 * CPUs and filters; otherwise it opens events per task, which miss short-lived children because an
 * inherited event restarts its period in each child. */
LuSource *lu_target_open (LuTarget *self, const LuOptions *options, const LuCommand *command,
                          guint32 stack_size, GError **error);
void lu_target_clear (LuTarget *self);
