/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* convert.h - `live-unwinder convert`: a recording in another format. */

#pragma once

#include "output/model-lines.h"
#include "symbolize/debuginfod.h"

#include <glib.h>

/* Whether the file begins as one of perf, which a replay has to unwind. */
gboolean lu_convert_is_perf_data (const char *path);
typedef struct
{
  const char *input; /* a capture; "-": standard input */
  const char *output;
  const char *format; /* NULL: what the name of the output says */
  gboolean force;
  LuModelLinesFlags lines;
  LuDebuginfod *debuginfod; /* for names that are not found here; NULL: none */
} LuConversion;

gboolean lu_convert_run (const LuConversion *self, GError **error);
