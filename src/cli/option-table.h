/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* option-table.h - the one table of the options of a recording: their names, help texts and types.
 * parse-options.c checks what they were set to. */

#pragma once

#include "session/options.h"
#include "top/top.h"

#define LU_NOT_GIVEN G_MININT

/* The command line. Values that need no check are in `options`; the other fields have the text or
 * the number that the user wrote. */
typedef struct
{
  LuOptions options;
  char **pids, **tids;
  char *duration, *stack_size, *engine, *stats, *debuginfod;
  gboolean wants_graph; /* stacks are always taken; this and call_graph are habits of other tools */
  char *call_graph;
  char **command;
  double fail_on_loss;
  int table_memory, max_depth, bpf_memory;
  int rotate, rotate_keep, frequency; /* LU_NOT_GIVEN, or any number */
  char **perf_fds;
  int capture_fd, event_fd, kallsyms_fd; /* -1: not given */
  char *window, *interval;               /* of top, like the next one */
  int batch;                             /* LU_NOT_GIVEN, or any number */
} LuRawOptions;

/* Sets the defaults. */
void lu_raw_options_init (LuRawOptions *self);
/* Frees everything but `options`. */
void lu_raw_options_clear (LuRawOptions *self);
/* Returns a parser that writes into *raw, which must outlive it. Owned by the caller. */
GOptionContext *lu_option_table_parser (LuRawOptions *raw);
/* Does so for the command top, which takes some of the options of a recording and a few more. */
GOptionContext *lu_option_table_top_parser (LuRawOptions *raw);

/* Sets *ids (of pid_t) to what the lists of numbers name, to be freed by the caller; texts: NULL if
 * the option was not given, and nothing is set. */
gboolean lu_parse_ids (char **texts, const char *option, GArray **ids, GError **error);
/* Parses the arguments of a recording. --help prints its text and ends the program. Fails with
 * LU_ERROR_INVALID for a wrong command line. */
gboolean lu_options_parse (LuOptions *self, int argc, char **argv, GError **error);
/* Parses the arguments of the command top; argv[0] is its name. */
gboolean lu_options_parse_top (LuOptions *self, LuTopOptions *top, int argc, char **argv,
                               GError **error);
