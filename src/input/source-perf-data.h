/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-perf-data.h - replays what `perf record --call-graph dwarf` wrote. */

#pragma once

#include "input/source.h"

/* Opens a perf.data file as a source, or standard input ("-") fed by `perf record -o -`. Events
 * come in order of time; mappings without a build-id get the one that perf found in their file.
 * Returns NULL with an error that says what to do if the file cannot be replayed: it is not a
 * perf.data file, is from another architecture, or was recorded without user registers and stacks.
 * For a pipe this waits until the first events are described. */
LuSource *lu_source_perf_data_new (const char *path_or_dash, GError **error);

/* Opens a descriptor, which is taken in any case. */
LuSource *lu_source_perf_data_new_for_fd (int fd, const char *name, GError **error);
