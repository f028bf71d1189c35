/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines.h - source lines and inlined functions of addresses in ELF files, file by file.
 *
 * From the DWARF of the file or of its separate debug file; the file has to be the one that was
 * mapped, as for names (names.h). Each file is read in a process of its own (dwarf-lines.h) that
 * has so much time and memory: when it runs out of them, crashes or hangs, that file's other
 * addresses have no lines, and nothing else happens. What it had open goes with it. One thread. */

#pragma once

#include "symbolize/files.h"

typedef struct _LuLines LuLines;

/* One function at an address: it is called there, or it runs there. */
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
  guint n_lines;       /* out; 0: the DWARF does not say */
} LuLineQuery;

typedef enum
{
  LU_LINES_READ,
  LU_LINES_NO_FILE,  /* it is not there (any more), or another file is in its place */
  LU_LINES_NO_DWARF, /* neither the file nor its debug file has any */
  LU_LINES_TOO_LARGE,
  LU_LINES_TOO_SLOW, /* perhaps some are answered: the first ones */
  LU_LINES_BROKEN,   /* likewise; its reader ended otherwise */
  LU_LINES_SKIPPED,  /* the time for all files was over, or Ctrl-C was pressed */
} LuLinesResult;

/* Seconds for one file and for all of them. */
#define LU_LINES_FILE_SECONDS  20
#define LU_LINES_TOTAL_SECONDS 60

/* The time runs from now on. Answers live as long as this. */
LuLines *lu_lines_new (guint file_seconds, guint total_seconds);
void lu_lines_free (LuLines *self);

/* Answers all queries of one file; what is asked first is answered first. */
LuLinesResult lu_lines_find_all (LuLines *self, const LuNameFile *file, LuLineQuery *queries,
                                 guint n_queries);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuLines, lu_lines_free)
