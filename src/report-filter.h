/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-filter.h - which samples of a recording a report is about. */

#pragma once

#include "output/model.h"

typedef struct
{
  int pid, tid;         /* 0: all */
  double from, to;      /* seconds since the first sample; to 0: the end */
  const char *process;  /* part of the program's name or the command line; NULL: all */
  const char *module;   /* part of the base name of a file in the stack; NULL: all */
  const char *function; /* part of the name of a function in the stack; NULL: all */
} LuReportFilter;

/* Whether the samples' times are asked for, so that the model has to have them. */
gboolean lu_report_filter_needs_times (const LuReportFilter *self);
gboolean lu_report_filter_is_empty (const LuReportFilter *self);
/* Leaves the samples that pass in the model's counts. After lu_model_name(). How many of them are
 * complete is not known then. */
void lu_report_filter_apply (const LuReportFilter *self, LuModel *model);
