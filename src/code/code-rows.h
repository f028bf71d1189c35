/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.h - rows for a file from the instructions of its code. */

#pragma once

#include "code/code-file.h"

/* A file with more code and data than this has no rows from instructions. The analysis takes eight
 * times as much memory as it has code, for a moment. */
#define LU_CODE_MAX_BYTES (32u << 20)

/* Makes rows for the code of the file open as `fd` (borrowed), which is an ELF file of 64 bits.
 * pieces: the parts of the code that need them (of LuCodeRange, ascending, without overlaps); NULL
 * for all of it. NULL: there are none, the library that decodes instructions is not installed, or
 * it was cancelled. is_cancelled: atomic, NULL for never. */
LuExtraRows *lu_code_rows_make (int fd, const GArray *pieces, const gint *is_cancelled);

/* Follows the code of one of the file's ranges, from everything that may be the start of a
 * function. words: lu_code_file_find_pointers(). NULL: it was cancelled, or is too much work. */
LuFlow *lu_code_rows_analyse (const LuCodeFile *file, const LuCodeBytes *range, const GArray *words,
                              const gint *is_cancelled);
