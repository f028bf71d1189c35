/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-features.h - reads the optional sections of a perf.data file: machine, command, events and
 * build-ids.
 *
 * Private to the perf.data reader. A section that does not parse is dropped. */

#pragma once

#include "base/cursor.h"

#define LU_PERF_N_FEATURES 256

/* The features of the file: machine and command. NULL where a feature is missing. Owned by the
 * file. */
typedef struct
{
  char *os_release;
  char *arch;         /* uname -m */
  char *command_line; /* perf record's arguments, joined by spaces */
} LuPerfInfo;

typedef struct
{
  LuPerfInfo info;
  GHashTable *build_ids;  /* path -> BuildId; private to perf-features.c */
  GPtrArray *event_names; /* array of char *, in the order of the events; may be empty */
  gboolean is_compressed; /* some records are compressed */
  gboolean is_directory;  /* the data is in other files (perf record --threads) */
} LuPerfFeatures;

void lu_perf_features_init (LuPerfFeatures *self);
void lu_perf_features_clear (LuPerfFeatures *self);

/* Returns whether we use the section with this number (HEADER_* in tools/perf/util/header.h). */
gboolean lu_perf_features_wants (guint feature);

/* Reads a section. */
void lu_perf_features_read (LuPerfFeatures *self, guint feature, LuCursor *bytes);

/* Reads one build-id record, header included, from the section or from a pipe. */
void lu_perf_features_read_build_id (LuPerfFeatures *self, LuCursor *record);

/* Returns the build-id that perf found in the file with this name, and its size. NULL if there is
 * none, or if there are several and the right one is unknown. */
const guint8 *lu_perf_features_find_build_id (const LuPerfFeatures *self, const char *path,
                                              guint8 *size);
