/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* outputs.h - the files that one recording, or one period of it, is written to: at most one
 * capture, and any number of other formats. */

#pragma once

#include "output/tee.h"

typedef struct
{
  char **paths;   /* NULL-terminated, owned: what was opened */
  int capture_fd; /* owned; -1: there is no capture */
  LuTee *tee;     /* owned; NULL: there is nothing else */
  /* Set before opening; see lu_export_set_lines(). */
  LuModelLinesFlags lines;
  LuExportRemark remark;
  LuDebuginfod *debuginfod; /* borrowed; see lu_export_set_debuginfod() */
} LuOutputs;

#define LU_OUTPUTS_INIT                                                                            \
  {                                                                                                \
    .capture_fd = -1                                                                               \
  }

/* Opens all of them (lu_output_open()); formats follow from the ends of the names. What was
 * created before a failure is removed. */
gboolean lu_outputs_open (LuOutputs *self, char *const *paths, gboolean force, GError **error);
/* The same for the period that begins at `wall_clock` (µs since the epoch), under names of their
 * own. Nothing that exists is replaced: a number is added to names that are taken. */
gboolean lu_outputs_open_at (LuOutputs *self, char *const *paths, gint64 wall_clock,
                             GError **error);
/* Removes the files; for recordings that did not begin. */
void lu_outputs_discard (const LuOutputs *self);
void lu_outputs_clear (LuOutputs *self);

/* "x.pb.gz" at 2026-11-21 17:03:12 UTC is "x-20261121T170312Z.pb.gz"; with `copy` above 1
 * "x-20261121T170312Z-2.pb.gz". Owned. */
char *lu_outputs_name_at (const char *path, gint64 wall_clock, guint copy);
/* Whether all can be replaced by others of such names: no standard output, no FIFO or device. */
gboolean lu_outputs_can_rotate (char *const *paths, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuOutputs, lu_outputs_clear)
