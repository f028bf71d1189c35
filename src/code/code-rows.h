/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.h - rows for a file from the instructions of its code. */

#pragma once

#include "code/code-file.h"

/* So much of a file's code is read, at most. */
#define LU_CODE_MAX_BYTES (64u << 20)

/* A place where a function seems to begin. */
typedef struct
{
  guint64 address;
  LuStartKind kind;
} LuCodeLead;

/* Code that needs rows. */
typedef struct
{
  GArray *pieces;           /* of LuCodeRange, ascending, without overlaps; NULL: all code */
  GArray *leads;            /* of LuCodeLead, by address: from other code; NULL: none */
  GArray *jumps;            /* of LuFunctionJump: of other code; NULL: none */
  gsize max_bytes;          /* of code that may be read; 0: LU_CODE_MAX_BYTES */
  const gint *is_cancelled; /* atomic; NULL: never */
} LuCodeWanted;

/* The rows of a file while they are made. Its code is cut into units of about LU_CODE_UNIT bytes,
 * which can be looked at in any order. A unit knows less of the others than of itself, as which
 * functions never return, so up to LU_CODE_WHOLE bytes are one unit. */
typedef struct _LuCodeRows LuCodeRows;

#define LU_CODE_UNIT  (128u << 10)
#define LU_CODE_WHOLE (4u << 20)

/* Reads the file open as `fd` (borrowed), which is an ELF file of 64 bits. The arrays of `wanted`
 * are referenced. NULL: it has no such code, or the library that decodes instructions is not
 * installed. */
LuCodeRows *lu_code_rows_new (int fd, const LuCodeWanted *wanted);
void lu_code_rows_free (LuCodeRows *self);
guint lu_code_rows_n_units (const LuCodeRows *self);
/* Returns the unit that an ELF address is in, or lu_code_rows_n_units(): none. Any thread. */
guint lu_code_rows_find_unit (const LuCodeRows *self, guint64 address);
/* Returns the pieces of code that are looked at on their own (of LuCodeBytes, ascending; borrowed).
 * For the arbiter. */
const GArray *lu_code_rows_parts (const LuCodeRows *self);
/* Makes the rows of a unit, but for parts that are too much work, and none if the file has two
 * million or more already. FALSE: it was cancelled. */
gboolean lu_code_rows_run_unit (LuCodeRows *self, guint unit);
/* Returns the rows of all units that are done, and the jumps of other code; NULL: there are none.
 * Borrowed, until the next call. */
const LuExtraRows *lu_code_rows_collect (LuCodeRows *self);

/* Makes all rows at once, in units of LU_CODE_WHOLE bytes. NULL: there are none, or it was
 * cancelled. */
LuExtraRows *lu_code_rows_make (int fd, const LuCodeWanted *wanted);

/* Follows the code of a part of one of the file's ranges, from everything that may be the start of
 * a function. words: lu_code_file_find_pointers(). NULL: it was cancelled, or is too much work. */
LuFlow *lu_code_rows_analyse (const LuCodeFile *file, const LuCodeBytes *part, const GArray *words,
                              const LuCodeWanted *wanted);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCodeRows, lu_code_rows_free)
