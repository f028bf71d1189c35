/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-functions.h - the functions of a file by ELF address, told from parts of functions; used by
 * tail-graph.c.
 *
 * A jump to a function is a tail call, but one to a part that a compiler moved away ("work.cold")
 * is not. Each of the two has an FDE (elf-fdes.h). Where there are symbols, their names tell; in a
 * stripped file, code counts as a function only if a call leads to its start, or if an instruction
 * or data has the address of that, or if it is aligned as functions are. One thread. */

#pragma once

#include "symbolize/elf-file.h"

typedef struct _LuCodeFunctions LuCodeFunctions;

typedef enum
{
  LU_CODE_UNKNOWN, /* not asked yet */
  LU_CODE_WHOLE,   /* a function */
  LU_CODE_PART,    /* of a function, a thunk, or perhaps one of these */
} LuCodeFunctionKind;

/* Takes the contents of `file`, which `name` (borrowed) describes. */
LuCodeFunctions *lu_code_functions_new (LuElfFile *file, const LuNameFile *name);
void lu_code_functions_free (LuCodeFunctions *self);
/* Returns the file, borrowed. */
const LuElfFile *lu_code_functions_file (const LuCodeFunctions *self);

/* Returns whether an entry of a linkage table is at an ELF address. */
gboolean lu_code_functions_is_linkage (const LuCodeFunctions *self, guint64 address);
/* Finds the function, or the part of one, with the code at an ELF address; *start and *end are ELF
 * addresses. FALSE if there is none, or if it is an entry of a linkage table. */
gboolean lu_code_functions_find (LuCodeFunctions *self, guint64 address, guint64 *start,
                                 guint64 *end);
/* Tells the kinds of what begins at each of these ELF addresses (of guint64): a row of
 * LuCodeFunctionKind, none of them unknown, owned by the caller. Each call may read all symbols and
 * all code of the file, within name->budget. */
LuCodeFunctionKind *lu_code_functions_judge (LuCodeFunctions *self, const GArray *starts);
