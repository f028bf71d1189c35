/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.h - opens the files that names are read from: mapped files and their debug files.
 *
 * Paths come from captures and from processes of other users, so files are opened with
 * base/open-file.h: only regular files, and opening never waits. Nothing here reads a file. */

#pragma once

#include "base/file-id.h"
#include "symbolize/budget.h"

#include <sys/stat.h>

/* Files that a debuginfod server delivered; the descriptors are borrowed. */
typedef struct
{
  int program_fd; /* the file itself, or -1 */
  int debug_fd;   /* its debug file, or -1 */
} LuNameFetched;

/* A file as a process had it mapped. */
typedef struct
{
  const LuFileId *id;
  gint32 pid;         /* a process that had it mapped and may still run; 0: there is none */
  guint64 start, end; /* run-time addresses of the mapping */
  const LuNameFetched *fetched; /* used if nothing is found here; NULL: none */
  LuBudget *budget;             /* for reading it; NULL: no limits */
} LuNameFile;

/* Tells whether a mapping of this file holds generated code: anonymous memory, or a file in memory
 * only that is not known to be a program. */
gboolean lu_file_is_generated (const LuFileId *id);

/* Opens the mapped file. The best way is 0, the mapping itself; 1 is the path in the root of the
 * process, or for a file in memory the program that it runs, 2 the path in our root, 3 the fetched
 * file. Returns -1 if a way leads nowhere. `info` receives the file's fstat(). */
#define LU_NAME_FILE_WAYS 4
int lu_name_file_open (const LuNameFile *file, guint way, struct stat *info);

/* Whether an opened file is the one that was mapped. */
typedef enum
{
  LU_NAME_FILE_OTHER,
  LU_NAME_FILE_CLAIMS, /* if it has the digest, where that is known */
  LU_NAME_FILE_SAME,
} LuNameFileMatch;

/* Judges a file that was opened in that way and has that build-id (NULL: none). If there is a
 * build-id, another one refuses it, and the inode (for paths, with the device) confirms it; if
 * there is none, the inode has to agree. */
LuNameFileMatch lu_name_file_match (const LuNameFile *file, guint way, const char *build_id,
                                    const struct stat *info);

/* Opens a candidate for the debug file, numbered from 0; -1 if it is not there, -2 after the last
 * one. The candidates are: by build-id in /usr/lib/debug; by the name in .gnu_debuglink, in
 * /usr/lib/debug or next to the file; the same places in the root of the process; the fetched file.
 * build_id and debug_link may be NULL. */
int lu_debug_file_open (const LuNameFile *file, const char *build_id, const char *debug_link,
                        guint candidate);
