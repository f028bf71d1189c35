/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-data-private.h - what perf-data.c and perf-data-open.c share; for nobody else. */

#pragma once

#include "input/inflate.h"
#include "input/perf-data.h"
#include "input/perf-events.h"
#include "input/perf-features.h"

#define LU_PERF_ATTR_SIZE_MIN PERF_ATTR_SIZE_VER0
#define LU_PERF_N_FEATURES    256

struct _LuPerfData
{
  int fd;
  char *name;
  gboolean is_pipe;
  guint64 file_size;
  guint64 read_offset, data_end; /* of a file */
  LuPerfEvents events;
  LuPerfFeatures features;
  LuRecordStream records;
  LuInflate *inflate;      /* NULL until the first compressed record */
  LuRecordStream inflated; /* of `inflate` */
  gboolean inflating;      /* the inflated stream may have records */
  gboolean has_ended;
  char *trouble;
};

/* LuFillFuncs; `data` is the LuPerfData. */
gssize lu_perf_data_fill_from_file (gpointer data, guint8 *bytes, gsize room);
gssize lu_perf_data_fill_from_pipe (gpointer data, guint8 *bytes, gsize room);
