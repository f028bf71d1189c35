/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* target.h - what is recorded: processes, threads, a command or the system, and which events that
 * takes. */

#pragma once

#include "command.h"
#include "input/source.h"
#include "options.h"

typedef struct
{
  GArray *pids; /* of pid_t: processes to follow; NULL: all */
} LuTarget;

/* Opens the sampling source for what the options name. With privilege CPU-wide events and a filter,
 * else events per task: an inherited event restarts its period in each child, so short children
 * would be missed. */
LuSource *lu_target_open (LuTarget *self, const LuOptions *options, const LuCommand *command,
                          guint32 stack_size, GError **error);
void lu_target_clear (LuTarget *self);
