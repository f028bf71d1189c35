/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.h - finds source lines and inlined functions of addresses in ELF files, file by file.
 *
 * They come from the DWARF of the file or of its debug file. A file is used only if it is the one
 * that was mapped, as for names (namer.h). Each file is read in a process of its own
 * (dwarf-lines.h) with limited time and memory: if that process runs out of them, crashes or hangs,
 * the remaining addresses of the file have no lines, and nothing else happens. One thread. */

#pragma once

#include "symbolize/files.h"

typedef struct _LuLines LuLines;

/* One function at an address: either inlined there, or the one that contains the code. */
typedef struct
{
  const char *function;   /* readable; NULL: not known */
  const char *defined_in; /* the file that defines it; NULL: not known */
  guint32 defined_at;     /* line; 0: not known */
  const char *file;       /* of the code, as the compiler named it; NULL: not known */
  guint32 line;           /* 0: not known */
} LuLine;

typedef struct
{
  guint64 file_offset; /* in */
  const LuLine *lines; /* out: the innermost inlined function first; the last is not inlined */
  guint n_lines;       /* out; 0: not known */
} LuLineQuery;

typedef enum
{
  LU_LINES_READ,
  LU_LINES_NO_FILE,  /* the file is gone, or another one is in its place */
  LU_LINES_NO_DWARF, /* neither the file nor its debug file has any */
  LU_LINES_TOO_LARGE,
  LU_LINES_TOO_SLOW, /* only the first queries may be answered */
  LU_LINES_BROKEN,   /* the reader crashed; only the first queries may be answered */
  LU_LINES_SKIPPED,  /* the time for all files was over, or Ctrl-C was pressed */
} LuLinesResult;

/* Seconds for one file and for all files together. */
#define LU_LINES_FILE_SECONDS  20
#define LU_LINES_TOTAL_SECONDS 60

/* The total time starts with this call. Answers stay valid until lu_lines_free(). */
LuLines *lu_lines_new (guint file_seconds, guint total_seconds);
void lu_lines_free (LuLines *self);

/* Answers all queries about one file. Those of the first query's compilation unit come first, which
 * matters if the time runs out. */
LuLinesResult lu_lines_find_all (LuLines *self, const LuNameFile *file, LuLineQuery *queries,
                                 guint n_queries);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuLines, lu_lines_free)
