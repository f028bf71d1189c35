/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-features.h - the optional sections of a perf.data file: what they say about machine,
 * command, events and build-ids. Private to the perf.data reader. A section that does not parse is
 * left out. */

#pragma once

#include "base/cursor.h"
#include "input/perf-data.h"

typedef struct
{
  LuPerfInfo info;
  GHashTable *build_ids;  /* path -> BuildId, private to perf-features.c */
  GPtrArray *event_names; /* char *, in the order of the events; may be empty */
  gboolean is_compressed; /* some records are */
  gboolean is_directory;  /* the data lies in other files (perf record --threads) */
} LuPerfFeatures;

void lu_perf_features_init (LuPerfFeatures *self);
void lu_perf_features_clear (LuPerfFeatures *self);

/* Whether the section with this number (HEADER_* in tools/perf/util/header.h) tells us anything. */
gboolean lu_perf_features_wants (guint feature);

/* Takes over what a section's bytes say. */
void lu_perf_features_read (LuPerfFeatures *self, guint feature, LuCursor *bytes);

/* One build-id record, header included, as it stands in the section or in a pipe. */
void lu_perf_features_read_build_id (LuPerfFeatures *self, LuCursor *record);

const guint8 *lu_perf_features_find_build_id (const LuPerfFeatures *self, const char *path,
                                              guint8 *size);
