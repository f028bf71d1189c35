/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* options.h - the command line, from one table: parsing, --help, and the man page's list are the
 * same. */

#pragma once

#include "fetcher.h"
#include "input/lanes.h"
#include "unwind/unwinder.h"

#include <glib.h>

typedef enum
{
  LU_STATS_TEXT,
  LU_STATS_JSON,
  LU_STATS_NONE,
} LuStatsFormat;

/* Whether stacks are walked in the kernel, where they are sampled. */
typedef enum
{
  LU_KERNEL_WALKS_NEVER,
  LU_KERNEL_WALKS_IF_SAFE, /* where it works and nothing speaks against it */
  LU_KERNEL_WALKS_ALWAYS,  /* not being able to is an error */
  LU_KERNEL_WALKS_CHECKED, /* as well as in user space, to be compared */
} LuKernelWalksWanted;

/* What a Sysprof client's daemon gives to its helper: descriptors. */
typedef struct
{
  GArray *events;  /* of LuHandedEvent; NULL: no helper is wanted */
  int capture_fd;  /* where the capture goes */
  int event_fd;    /* readable: stop; -1: none */
  int kallsyms_fd; /* -1: the capture needs no kernel names */
} LuHelperOptions;

typedef struct
{
  char **command; /* NULL-terminated; NULL: none */
  GArray *pids;   /* of pid_t; NULL: none */
  GArray *tids;   /* of pid_t; NULL: none */
  gboolean all;
  char *input;        /* perf.data to replay; NULL: sample */
  char **outputs;     /* NULL-terminated, at least one */
  const char *output; /* the first of them */
  gboolean force;
  double duration;             /* seconds; 0: until the end */
  guint rotate;                /* seconds until the next files; 0: there is one of each */
  guint rotate_keep;           /* finished ones that are kept; 0: all */
  guint frequency;             /* Hz */
  guint32 stack_size;          /* bytes; 0: auto */
  const LuUnwinderOps *engine; /* in user space */
  const char *engine_name;     /* as it was asked for; static */
  LuKernelWalksWanted kernel_walks;
  gboolean unsafe_kernel; /* walk also in a kernel that it could lock up */
  gboolean time_walks;    /* have the kernel measure them */
  guint max_depth;        /* user frames of a stack walked in the kernel; 0: the usual */
  guint bpf_memory;       /* MiB of tables for it; 0: the usual */
  LuFetcherMode debuginfod;
  LuStatsFormat stats;
  double fail_on_loss; /* percent; negative: never */
  guint table_memory;  /* MiB of whole unwind tables; 0: none are made */
  gboolean no_store;   /* whole tables are not kept on disk */
  gboolean include_self, no_join, no_symbols, redact, quiet;
  gboolean lines, inlines; /* of other formats than captures */
  gboolean show_version;
  LuHelperOptions helper;
  char *command_line; /* all of it, for the capture */
} LuOptions;

/* Parses the arguments of a recording. --help is answered and ends the program. */
gboolean lu_options_parse (LuOptions *self, int argc, char **argv, GError **error);
void lu_options_clear (LuOptions *self);

/* The program is a helper: it was given perf events. */
static inline gboolean
lu_options_is_helper (const LuOptions *self)
{
  return self->helper.events != NULL;
}
