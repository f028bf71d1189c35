/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-functions.h - the functions of a file by ELF address, told from parts of functions; used by
 * tail-graph.c.
 *
 * A jump to a function is a tail call, but one to a part that a compiler moved away ("work.cold")
 * is not. Where there are symbols, their names tell. In a stripped file each of the two has an FDE
 * (elf-fdes.h), so code counts as a function only if a call leads to its start, or if an
 * instruction or data has the address of that, or if it is aligned as functions are. One thread. */

#pragma once

#include "symbolize/elf-file.h"

typedef struct _LuCodeFunctions LuCodeFunctions;

typedef enum
{
  LU_CODE_NONE,  /* nothing is known, or it is an entry of a linkage table */
  LU_CODE_WHOLE, /* a function */
  LU_CODE_PART,  /* of a function, a thunk, or perhaps one of these */
} LuCodeFunctionKind;

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
  LuCodeFunctionKind kind;
} LuCodeFunction;

/* Takes the contents of `file`, which `name` (borrowed) describes. */
LuCodeFunctions *lu_code_functions_new (LuElfFile *file, const LuNameFile *name);
void lu_code_functions_free (LuCodeFunctions *self);
/* Returns the file, borrowed. */
const LuElfFile *lu_code_functions_file (const LuCodeFunctions *self);

/* Finds what contains each of the ELF addresses (of guint64), in the order of these. Each call may
 * read all symbols and all code of the file, within name->budget. Returns an array of
 * LuCodeFunction, owned by the caller. */
GArray *lu_code_functions_find (LuCodeFunctions *self, const GArray *addresses);
