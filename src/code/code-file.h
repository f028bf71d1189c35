/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-file.h - the parts of an ELF file that the analysis of its code needs: the bytes of its
 * segments, where symbols say that functions begin, and which pointers lead to functions of other
 * files that never return.
 *
 * All of it is hostile; it is read into private memory. One thread. */

#pragma once

#include "arch/arch.h"
#include "code/flow.h"
#include "code/returns.h"
#include "elf/headers.h"
#include "table/cfi.h"

typedef struct
{
  LuElfHeaders headers;
  const LuArch *arch;
  GArray *ranges;   /* of LuCodeBytes, ascending: code; the bytes are in `segments` */
  GArray *segments; /* of LuCodeBytes, ascending: everything loaded, in the file; bytes owned.
                     * Data has none: it is read when something asks for it. */
  LuElfInput input;
  guint8 *piece; /* of data that was read last; owned */
  guint64 piece_start;
  gsize piece_size;   /* 0: none */
  GArray *functions;  /* of guint64: starts of functions by symbols, ascending */
  GArray *pointers;   /* of LuCodePointer, ascending */
  LuCodeHints *hints; /* owned */
  LuCodeReturns *returns;
  GArray *noreturn; /* of guint64: addresses of pointers, ascending */
  GArray *own;      /* of LuCodePointer, ascending: to functions of this file by their names */
  LuFlowFile flow_file;
} LuCodeFile;

/* A pointer that the dynamic linker fills in. */
typedef struct
{
  guint64 address, value;
} LuCodePointer;

/* A file that loads more than this has no rows from instructions: every byte of data takes a
 * quarter of one in LuCodeHints, and may be looked at. */
#define LU_CODE_MAX_LOADED (128u << 20)

/* Reads the file open as `fd` (borrowed; it stays open until the end). pieces: the parts of its
 * code that matter (of LuCodeRange), NULL for all of it. NULL: its code cannot be decoded, it has
 * none there, more than `max_bytes` of it would have to be read, or there is too much data. */
LuCodeFile *lu_code_file_read (int fd, gsize max_bytes, const GArray *pieces);
void lu_code_file_free (LuCodeFile *self);

/* Returns where the file's code may be (of LuCodeRange, owned): segments that are executed, but not
 * their sections of data, which older linkers put into the same segment. A segment whose sections
 * are not known is all code. */
GArray *lu_code_find_ranges (const LuElfHeaders *headers);

/* Returns the words of data that are addresses in the ranges of code (of guint64, ascending),
 * owned. */
GArray *lu_code_file_find_pointers (LuCodeFile *self);
/* Returns the index of the first element that is not below an address. Elements begin with a
 * guint64 (an address, LuCodeBytes, LuCodeRange, LuCodeLead), by which they are in ascending order.
 */
guint lu_code_file_first (const GArray *elements, guint64 address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCodeFile, lu_code_file_free)
