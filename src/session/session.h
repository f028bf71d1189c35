/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session.h - one recording from start to end. */

#pragma once

#include "options.h"

/* Records as the options say and tells the user of errors. Returns the exit code of the program. */
int lu_session_run (const LuOptions *options);
