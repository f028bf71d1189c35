/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.h - opens the files that names are read from: programs, debug files, maps of generated
 * code.
 *
 * Paths come from captures and processes of other people: only regular files are opened, and
 * nothing waits or acts on being opened. Nothing here reads what is in a file. */

#pragma once

#include <glib.h>

/* What came from elsewhere for a file; the descriptors are borrowed. */
typedef struct
{
  int program_fd; /* the file itself; -1: none */
  int debug_fd;   /* its separate debug file; -1: none */
} LuNameFetched;

/* Of a file as a process had it mapped. */
typedef struct
{
  const char *path;     /* as the process named it */
  const char *build_id; /* hexadecimal; NULL: unknown */
  guint64 inode;        /* 0: unknown */
  gint32 pid;           /* a process that had it mapped, and perhaps still runs; 0: none to ask */
  guint64 start, end;   /* where */
  const LuNameFetched *fetched; /* asked where nothing is found here; NULL: nothing */
} LuNameFile;

/* A regular file for reading; -1 if it is none or cannot be opened. */
int lu_name_file_open_regular (const char *path);
/* The ways to the mapped file, best first: way 0 is the mapping itself, 1 the path in the
 * process's root, 2 the path here, 3 what was fetched. -1 where a way leads nowhere. */
#define LU_NAME_FILE_WAYS 4
int lu_name_file_open (const LuNameFile *file, guint way);
/* Whether an open file with that build-id (NULL: none) is the one that was mapped. */
gboolean lu_name_file_is (const LuNameFile *file, const char *build_id, int fd);
/* A path inside the root of a process, without following a link out of it; nothing at the end of
 * the path is followed. */
int lu_name_file_open_in_root (gint32 pid, const char *path);

/* A separate debug file: by build-id, or by the name that the file gives, next to it or in
 * /usr/lib/debug; here, then the same in the process's root, then what was fetched. build_id and
 * debug_link may be NULL.
 * The candidates are numbered from 0; -2 after the last one. */
int lu_debug_file_open (const LuNameFile *file, const char *build_id, const char *debug_link,
                        guint candidate);
