/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetcher.h - starts the process that fetches debug files, and tells people about it.
 *
 * It is started before anything is given up or opened, by whatever command names functions, and
 * waits. It has no privileges: what it may is what the user who called may. A helper has none. */

#pragma once

#include "symbolize/debuginfod.h"

#include <glib.h>
#include <glib/gi18n.h>

typedef enum
{
  LU_FETCHER_AUTO, /* if DEBUGINFOD_URLS names servers */
  LU_FETCHER_NO,
  LU_FETCHER_YES, /* and take more time; without a server it is an error */
} LuFetcherMode;

/* What --help says of the option of all these commands. */
#define LU_FETCHER_HELP                                                                            \
  N_ ("Fetch debug files from servers for names that are not here: no, auto (default: for at "     \
      "most "                                                                                      \
      "10 s, if DEBUGINFOD_URLS is set) or yes (at most 5 min)")
#define LU_FETCHER_CHOICE N_ ("no|auto|yes")

/* "no", "auto" or "yes"; NULL is "auto". */
gboolean lu_fetcher_parse_mode (const char *text, LuFetcherMode *mode, GError **error);

/* Whether files are fetched unless somebody says no, as an error says if not. Loads the library. */
gboolean lu_fetcher_is_ready (GError **error);

/* *debuginfod: owned; NULL if nothing shall be fetched. Call it while there is one thread. */
gboolean lu_fetcher_start (LuFetcherMode mode, LuDebuginfod **debuginfod, GError **error);
/* The same for a command that reads recordings, from the text of its option: fetching is allowed
 * at once, shown on a terminal, and Ctrl-C leaves out the rest. */
gboolean lu_fetcher_start_for_reader (const char *mode, LuDebuginfod **debuginfod, GError **error);
/* Writes a line on how far it is over the last one, on standard error. */
void lu_fetcher_print_progress (const char *name, guint64 done, guint64 total);
/* Tells on standard error what was fetched and what not, if there was anything. */
void lu_fetcher_print_summary (const LuDebuginfod *debuginfod);
