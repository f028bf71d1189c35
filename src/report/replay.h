/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.h - recordings of perf where a capture is expected: reports, comparisons, other formats.
 *
 * Copied stacks are unwound on the way, finished callchains are taken as they are. A signal ends a
 * replay with an error. Main thread, while there is no other. */

#pragma once

#include "export/outputs.h"
#include "input/source.h"

typedef struct
{
  gboolean redact;          /* as in LuRecording */
  LuDebuginfod *debuginfod; /* borrowed; NULL: no files are fetched */
  LuKallsymsFile *kallsyms; /* names of this machine's kernel, borrowed; NULL: none */
  GArray *pids;             /* as in LuDrainOptions */
  gboolean is_exact;        /* complete no stack from others of its thread */
} LuReplayOptions;

/* Returns whether the file begins like a perf.data file. */
gboolean lu_replay_is_perf_data (const char *path);
/* Loads a capture ("-": standard input) or a file of perf as a model, without names. */
LuModel *lu_replay_load (const char *path, LuModelFlags flags, LuKallsymsFile *kallsyms,
                         GError **error);
/* Runs a source to its end into a model, without names. */
LuModel *lu_replay_source (LuSource *source_taken, LuModelFlags flags,
                           const LuReplayOptions *options, GError **error);
/* Converts a file of perf; takes what is open of the outputs. A capture gets names. */
gboolean lu_replay_convert (const char *path, const LuReplayOptions *options, LuOutputs *outputs,
                            GError **error);
