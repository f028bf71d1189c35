/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.h - recordings of perf where a capture is expected: reports, comparisons, other formats.
 *
 * Copied stacks are unwound on the way, finished callchains are taken as they are. */

#pragma once

#include "output/format.h"

/* Whether the file begins as one of perf. */
gboolean lu_replay_is_perf_data (const char *path);
/* A capture ("-": standard input) or a file of perf as a model, without names. */
LuModel *lu_replay_load (const char *path, LuModelFlags flags, GError **error);
/* A file of perf into another format; takes the export. */
gboolean lu_replay_export (const char *path, gboolean redact, LuExport *export, GError **error);
/* And into a capture with names; takes the descriptor. debuginfod: as the option. */
gboolean lu_replay_capture (const char *path, gboolean redact, const char *debuginfod, int fd,
                            GError **error);
