/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* options.h - the choices of one recording, as the user or a Sysprof client made them.
 *
 * src/cli/parse-options.c fills them from the command line, reports from the file they read. */

#pragma once

#include "session/fetcher.h"
#include "input/per-cpu-events.h"
#include "record/kernel-walks.h"
#include "unwind/unwinder.h"

typedef enum
{
  LU_STATS_TEXT,
  LU_STATS_JSON,
  LU_STATS_NONE,
} LuStatsFormat;

/* The descriptors that the daemon of a Sysprof client passes to its helper. */
typedef struct
{
  GArray *events;  /* of LuInheritedEvent; NULL: we are no helper */
  int capture_fd;  /* where the capture goes */
  int event_fd;    /* readable: stop; -1: none */
  int kallsyms_fd; /* -1: the capture needs no kernel names */
} LuHelperOptions;

typedef struct
{
  char **command; /* NULL-terminated; NULL: none */
  GArray *pids;   /* of pid_t; NULL: none */
  GArray *tids;   /* of pid_t; NULL: none */
  char **names;   /* of processes, NULL-terminated; NULL: none */
  gboolean wait;  /* until there is a process with one of these names */
  gboolean all;
  char *input;        /* perf.data to replay; NULL: sample */
  char **outputs;     /* NULL-terminated, at least one */
  const char *output; /* the first of them */
  int stream_fd;      /* the capture goes to this pipe instead, which is taken; 0: to outputs */
  gboolean force;
  double duration;             /* seconds; 0: until the end */
  guint rotate;                /* seconds until the next files; 0: there is one of each */
  guint rotate_keep;           /* finished ones that are kept; 0: all */
  guint frequency;             /* Hz */
  guint32 stack_size;          /* bytes; 0: auto */
  const LuUnwinderOps *engine; /* in user space */
  const char *engine_name;     /* as it was asked for; static */
  LuKernelWalksOptions kernel_walks;
  LuFetcherMode debuginfod;
  LuStatsFormat stats;
  double fail_on_loss; /* percent; negative: never */
  guint table_memory;  /* MiB of whole unwind tables; 0: none are made */
  gboolean no_store;   /* whole tables are not kept on disk */
  gboolean include_self, native_frames, no_join, no_symbols, no_counters, redact, quiet, verbose;
  gboolean lines, inlines, full_names, no_tail_calls; /* of other formats than captures */
  gboolean open;                                      /* show the recording when it is over */
  gboolean show_version;
  LuHelperOptions helper;
  char *command_line; /* all of it, for the capture */
} LuOptions;

/* Frees what the options own. */
void lu_options_clear (LuOptions *self);

/* The program is a helper: it was given perf events. */
static inline gboolean
lu_options_is_helper (const LuOptions *self)
{
  return self->helper.events != NULL;
}
