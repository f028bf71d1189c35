/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* parse-options.h - parses the command line of a recording. */

#pragma once

#include "session/options.h"

/* Parses the arguments of a recording. --help prints its text and ends the program. Fails with
 * LU_ERROR_INVALID for a wrong command line. */
gboolean lu_options_parse (LuOptions *self, int argc, char **argv, GError **error);
