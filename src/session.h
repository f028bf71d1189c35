/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session.h - one recording from start to end. */

#pragma once

#include "options.h"
#include "output/outputs.h"
#include "symbolize/kallsyms-file.h"

/* Records as the options say. Returns the exit code of the program; a GError that was reported to
 * the user is part of it. */
int lu_session_run (const LuOptions *options);

/* Replays a file (options->input) into what is open of the outputs, which is taken, and says
 * nothing. A signal is an error. */
gboolean lu_session_replay (const LuOptions *options, LuOutputs *outputs, LuKallsymsFile *kallsyms,
                            GError **error);
/* Names of this machine's kernel for it, while they may be read: a replay gives up rights. NULL:
 * there are none. Owned. */
LuKallsymsFile *lu_session_open_kallsyms (void);
