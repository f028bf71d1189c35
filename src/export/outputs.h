/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* outputs.h - the files of one recording, or of one of its periods: at most one capture and any
 * number of other formats. */

#pragma once

#include "capture/output-file.h"
#include "tee.h"

typedef struct
{
  char **paths;   /* opened files; NULL-terminated, owned */
  int capture_fd; /* owned; -1: no capture */
  LuTee *tee;     /* owned; NULL: no other format */
  /* Set before opening; see lu_export_add_flags() and lu_export_set_lines(). */
  LuModelFlags model_flags;
  LuModelLinesFlags lines;
  LuExportRemark remark;
  LuDebuginfod *debuginfod; /* borrowed; see lu_export_set_naming() */
  LuNamerProgress go_on;    /* NULL: always */
  gpointer go_on_data;
  const LuOutputDirectories *directories; /* borrowed; needed by lu_outputs_open_at() only */
} LuOutputs;

#define LU_OUTPUTS_INIT                                                                            \
  {                                                                                                \
    .capture_fd = -1                                                                               \
  }

/* Opens all paths with lu_output_open(); suffixes select the formats. Removes the files it created
 * if one fails. */
gboolean lu_outputs_open (LuOutputs *self, char *const *paths, gboolean force, GError **error);
/* Opens files for the period that begins at `wall_clock` (µs since the epoch), under names of their
 * own, in `directories`, which were opened for the same paths. Replaces nothing: a name that is
 * taken gets a number. */
gboolean lu_outputs_open_at (LuOutputs *self, char *const *paths, gint64 wall_clock,
                             GError **error);
/* Makes a sink that writes everything that is open. Without a capture, the other formats still
 * receive its frames. The sink, owned by the caller, takes everything that is open. */
LuSink *lu_outputs_take_sink (LuOutputs *self);
/* Removes the files of a recording that did not begin. */
void lu_outputs_discard (const LuOutputs *self);
void lu_outputs_clear (LuOutputs *self);

/* "x.pb.gz" at 2026-11-21 17:03:12 UTC is "x-20261121T170312Z.pb.gz"; with `copy` above 1
 * "x-20261121T170312Z-2.pb.gz". Owned. */
char *lu_outputs_name_at (const char *path, gint64 wall_clock, guint copy);
/* Returns whether files with these names can replace all of them, which excludes standard output,
 * FIFOs and devices. */
gboolean lu_outputs_can_rotate (char *const *paths, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuOutputs, lu_outputs_clear)
