/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-filter.h - selects the samples of a report or a converted file. */

#pragma once

#include "profile/model.h"

typedef struct
{
  int pid, tid;    /* 0: all */
  double from, to; /* seconds since the first sample; to 0: the end */
  /* Owned: */
  char *process;  /* part of the program's name or the command line; NULL: all */
  char *module;   /* part of the base name of a file in the stack; NULL: all */
  char *function; /* part of the name of a function in the stack; NULL: all */
} LuReportFilter;

/* Adds the options that fill the filter, which must outlive the context. */
void lu_report_filter_add_options (LuReportFilter *self, GOptionContext *context);
void lu_report_filter_clear (LuReportFilter *self);
gboolean lu_report_filter_is_empty (const LuReportFilter *self);

/* Returns whether the filter needs the times of samples; the model must then keep them. */
gboolean lu_report_filter_needs_times (const LuReportFilter *self);
/* Reduces the model's counts, and its samples if it has them, to the samples that pass. After
 * lu_model_name(). The number of complete stacks is unknown from then on. Fails if no process or
 * thread passes; the message names those with the most samples. */
gboolean lu_report_filter_apply (const LuReportFilter *self, LuModel *model, GError **error);
