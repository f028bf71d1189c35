/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.h - rows for a file from the instructions of its code. */

#pragma once

#include "code/code-file.h"

/* A file with more code and data than this has no rows from instructions. */
#define LU_CODE_MAX_BYTES (32u << 20)

/* A place where a function seems to begin. */
typedef struct
{
  guint64 address;
  LuStartKind kind;
} LuCodeLead;

/* Code that needs rows. */
typedef struct
{
  const GArray *pieces;     /* of LuCodeRange, ascending, without overlaps; NULL: all code */
  const GArray *leads;      /* of LuCodeLead, by address: from other code; NULL: none */
  const GArray *jumps;      /* of LuFunctionJump: of other code; NULL: none */
  const gint *is_cancelled; /* atomic; NULL: never */
} LuCodeWanted;

/* Makes rows for the code of the file open as `fd` (borrowed), which is an ELF file of 64 bits.
 * NULL: there are none, the library that decodes instructions is not installed, or it was
 * cancelled. */
LuExtraRows *lu_code_rows_make (int fd, const LuCodeWanted *wanted);

/* Follows the code of one of the file's ranges, from everything that may be the start of a
 * function. words: lu_code_file_find_pointers(). NULL: it was cancelled, or is too much work. */
LuFlow *lu_code_rows_analyse (const LuCodeFile *file, const LuCodeBytes *range, const GArray *words,
                              const LuCodeWanted *wanted);
