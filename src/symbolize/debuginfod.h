/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* debuginfod.h - debug files from servers, for files whose functions have no names here.
 *
 * Used by whoever names frames, when a recording is over. The files with most samples come first;
 * each may take so much time, all together so much, and none may be larger than so much. What came
 * is used only if its build-id is the one that was asked for. What was left out, and why, is told
 * in one line at the end. Fetching is another process's (fetch.h). One thread. */

#pragma once

#include "symbolize/names.h"

#include <sys/types.h>

typedef struct _LuDebuginfod LuDebuginfod;

typedef struct
{
  guint file_ms, total_ms; /* of waiting */
  guint64 max_size;        /* bytes of a file */
} LuDebuginfodLimits;

/* Called a few times a second while a file is fetched, with its name, and the bytes there are and
 * will be (0: not known yet); with NULL when the last one is done. FALSE: leave out the rest. */
typedef gboolean (*LuDebuginfodProgress) (const char *name, guint64 done, guint64 total,
                                          gpointer user_data);

/* A file some of whose functions have no name. All texts are borrowed. */
typedef struct
{
  const char *path;
  const char *build_id; /* hexadecimal, perhaps; it is checked */
  gboolean is_gone;     /* the file itself is not here either */
  guint64 n_samples;    /* with a function without a name in this file */
  guint32 number;       /* the caller's */
} LuUnnamedFile;

/* Adds the file that `names` was asked for last, unless all of it is here; its lack and its
 * build-id are filled in. files: of LuUnnamedFile; texts: is to live as long as that. */
void lu_unnamed_files_add (GArray *files, LuUnnamedFile file, const LuNames *names,
                           GStringChunk *texts);

/* Takes what was fetched for the file with that number; called a second time with the debug file,
 * if the first time brought the program itself. Whether functions without a name are left, for
 * which a debug file is needed. */
typedef gboolean (*LuDebuginfodFound) (guint32 number, const LuNameFetched *fetched,
                                       gpointer user_data);

/* Takes the socket of a fetching process and the process. */
LuDebuginfod *lu_debuginfod_new (int fd, pid_t pid, const LuDebuginfodLimits *limits);
/* Ends that process. */
void lu_debuginfod_free (LuDebuginfod *self);
void lu_debuginfod_set_progress (LuDebuginfod *self, LuDebuginfodProgress progress,
                                 gpointer user_data);

/* Nothing is fetched before this is called: while it is recorded. */
void lu_debuginfod_allow (LuDebuginfod *self);
gboolean lu_debuginfod_is_allowed (const LuDebuginfod *self);

/* files: of LuUnnamedFile; it is sorted. n_samples: all there are, more than 0. */
void lu_debuginfod_fetch (LuDebuginfod *self, GArray *files, guint64 n_samples,
                          LuDebuginfodFound found, gpointer user_data);

/* What was fetched for a file, to be read again: FALSE if that is nothing, or is kept no longer.
 * The descriptors are borrowed. build_id may be NULL. */
gboolean lu_debuginfod_find (const LuDebuginfod *self, const char *build_id,
                             LuNameFetched *fetched);

/* One line for people, owned, about all that was to be fetched; NULL: nothing was. */
char *lu_debuginfod_summary (const LuDebuginfod *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDebuginfod, lu_debuginfod_free)
