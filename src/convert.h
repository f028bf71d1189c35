/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* convert.h - `live-unwinder convert`: a recording in another format. */

#pragma once

#include "output/model-lines.h"

#include <glib.h>

/* Whether the file begins as one of perf, which a replay has to unwind. */
gboolean lu_convert_is_perf_data (const char *path);
/* Reads a capture ("-": standard input) and writes it as `format` (NULL: what the name of the
 * output says). */
gboolean lu_convert_run (const char *input, const char *output, const char *format, gboolean force,
                         LuModelLinesFlags lines, GError **error);
