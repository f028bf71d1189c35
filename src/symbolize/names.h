/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.h - readable names of functions in ELF files of this machine, file by file.
 *
 * All addresses of a file are asked for at once, so that only one file's symbols are in memory at a
 * time. Looks into the file and its separate debug file, if that is installed; never asks a server,
 * but tells what one would have to be asked for (debuginfod.h).
 * A file has to be the one that was mapped: the build-id decides, else the inode. One thread. */

#pragma once

#include "symbolize/files.h"

typedef struct _LuNames LuNames;

typedef struct
{
  guint64 file_offset; /* in: of a byte of the function */
  guint64 start, end;  /* out: file offsets of the function, end exclusive */
  const char *name;    /* out: demangled; NULL: unknown. Owned by the LuNames */
} LuNameQuery;

typedef enum
{
  LU_NAMES_READ,
  LU_NAMES_NO_FILE, /* it is not there (any more), or another file is in its place */
  LU_NAMES_NO_ELF,  /* the file cannot be read as ELF */
} LuNamesResult;

/* What is missing where names were not found. */
typedef enum
{
  LU_NAMES_LACK_NOTHING,    /* that could be had by build-id */
  LU_NAMES_LACK_DEBUG_FILE, /* the file has no symbol table */
  LU_NAMES_LACK_FILE,       /* it is not here, nor is its debug file */
} LuNamesLack;

LuNames *lu_names_new (void);
void lu_names_free (LuNames *self);

/* Answers all queries of one file. "[vdso]" is answered from this machine's own if that has the
 * same build-id. */
LuNamesResult lu_names_find_all (LuNames *self, const LuNameFile *file, LuNameQuery *queries,
                                 guint n_queries);
/* Of the file that was asked for last. *build_id: by which to ask for it; borrowed until the next
 * file. */
LuNamesLack lu_names_lack (const LuNames *self, const char **build_id);
/* Whether that is a debug file. */
gboolean lu_names_lack_debug_file (const LuNames *self);
/* The same text for equal texts; valid as long as self. */
const char *lu_names_intern (LuNames *self, const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuNames, lu_names_free)
