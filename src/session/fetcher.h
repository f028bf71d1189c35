/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetcher.h - starts the process that fetches debug files, and tells people about it.
 *
 * Every command that names functions starts it before giving up rights and before opening files.
 * It has the rights of the user who called, and no others. A helper has no such process. */

#pragma once

#include "symbolize/debuginfod.h"

#include <glib/gi18n.h>

typedef enum
{
  LU_FETCHER_AUTO, /* if DEBUGINFOD_URLS names servers */
  LU_FETCHER_NO,
  LU_FETCHER_YES, /* for longer; having no server is an error */
} LuFetcherMode;

/* The help text of --debuginfod, which several commands have. */
#define LU_FETCHER_HELP                                                                            \
  N_ ("Fetch missing debug files from servers (set DEBUGINFOD_URLS): no, auto (default: for at "   \
      "most 10 s) or yes (at most 5 min)")
#define LU_FETCHER_CHOICE N_ ("no|auto|yes")

/* "no", "auto" or "yes"; NULL is "auto". */
gboolean lu_fetcher_parse_mode (const char *text, LuFetcherMode *mode, GError **error);

/* Returns whether files are fetched by default; the error says why not. Loads the library. */
gboolean lu_fetcher_is_ready (GError **error);

/* *debuginfod: owned; NULL: nothing is to be fetched. Forks, so call it before starting threads. */
gboolean lu_fetcher_start (LuFetcherMode mode, LuDebuginfod **debuginfod, GError **error);
/* Does so for a command that reads recordings; mode is the value of its option. Fetching is allowed
 * at once and shown on a terminal; Ctrl-C skips the remaining files. */
gboolean lu_fetcher_start_for_reader (const char *mode, LuDebuginfod **debuginfod, GError **error);
/* Under sudo, becomes the user who called it, to whom the cache and everything else belong. For a
 * process of its own. */
gboolean lu_fetcher_become_caller (void);
/* Replaces the progress line on standard error. */
void lu_fetcher_print_progress (const char *name, guint64 done, guint64 total);
/* Prints to standard error which files were fetched and which were not, if there were any. */
void lu_fetcher_print_summary (const LuDebuginfod *debuginfod);
