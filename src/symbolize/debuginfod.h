/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* debuginfod.h - gets debug files from servers for files whose functions have no names here.
 *
 * The namer uses it when a recording is over. Files with the most samples come first. There are
 * limits for the time per file, the total time and the size of a file. A fetched file is used only
 * if its build-id is the one that was asked for. One line at the end says what was left out, and
 * why. Another process does the fetching (fetch.h). One thread. */

#pragma once

#include "symbolize/files.h"

#include <sys/types.h>

typedef struct _LuDebuginfod LuDebuginfod;

typedef struct
{
  guint file_ms, total_ms; /* waiting for one file, and for all */
  guint64 max_size;        /* bytes of a file */
} LuDebuginfodLimits;

/* Called a few times a second while a file is fetched, with its name and the bytes that are done
 * and expected (0: not known yet). Called with NULL when the last file is done. FALSE skips all
 * further files. */
typedef gboolean (*LuDebuginfodProgress) (const char *name, guint64 done, guint64 total,
                                          gpointer user_data);

/* A file with addresses that have no name. The texts are borrowed. */
typedef struct
{
  const char *path;
  const char *build_id; /* any text; used if it is hexadecimal */
  gboolean is_gone;     /* the file itself is missing here, too */
  guint64 n_samples;    /* samples with an unnamed address in this file */
  guint32 number;       /* chosen by the caller */
} LuUnnamedFile;

/* Called with the fetched files (borrowed) of the file with that number: first for the program
 * itself if it was missing, then for the debug file. Returns whether a debug file is needed for
 * addresses that still have no name. */
typedef gboolean (*LuDebuginfodFound) (guint32 number, const LuNameFetched *fetched,
                                       gpointer user_data);

/* Takes the socket of a fetching process, and the process. */
LuDebuginfod *lu_debuginfod_new (int fd, pid_t pid, const LuDebuginfodLimits *limits);
/* Ends the fetching process. */
void lu_debuginfod_free (LuDebuginfod *self);
void lu_debuginfod_set_progress (LuDebuginfod *self, LuDebuginfodProgress progress,
                                 gpointer user_data);

/* Allows fetching; until then, while the recording runs, nothing is fetched. */
void lu_debuginfod_allow (LuDebuginfod *self);

/* Fetches for an array of LuUnnamedFile, which is sorted, if that is allowed. n_samples: all
 * samples. */
void lu_debuginfod_fetch (LuDebuginfod *self, GArray *files, guint64 n_samples,
                          LuDebuginfodFound found, gpointer user_data);

/* Finds what was fetched for a file, to read it again. FALSE if nothing was, or it was closed
 * since. The descriptors are borrowed. build_id may be NULL. */
gboolean lu_debuginfod_find (const LuDebuginfod *self, const char *build_id,
                             LuNameFetched *fetched);

/* Returns one translated line about all requests, owned by the caller; NULL if there were none. */
char *lu_debuginfod_summary (const LuDebuginfod *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDebuginfod, lu_debuginfod_free)
