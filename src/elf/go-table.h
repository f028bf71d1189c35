/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-table.h - the table of functions that each Go program carries, stripped or not: .gopclntab.
 *
 * It tells where each function begins, its name, and how deep its stack is at each instruction.
 * Go's own tracebacks depend on it, so it is in every program. Four forms of it exist, for Go 1.2,
 * 1.16, 1.18 and 1.20 and their successors (runtime/symtab.go, debug/gosym/pclntab.go). The section
 * is found by its name, or, in a file without section headers, by how it begins. It is as hostile
 * as the file, and read as it is needed: with 1.3 MB of memory, however large it is. One thread. */

#pragma once

#include "base/cursor.h"
#include "elf/headers.h"

typedef struct _LuGoTable LuGoTable;

typedef enum
{
  LU_GO_FLAG_SP_WRITE = 2, /* assembly that moves to another stack, or aligns this one */
  LU_GO_FLAG_ASSEMBLY = 4,
} LuGoFlags; /* as in the table */

typedef struct
{
  guint64 start, end; /* ELF addresses, end exclusive */
  guint64 name;       /* offset in the table of its name */
  guint32 depths;     /* for lu_go_table_depths() */
  guint8 flags;       /* LuGoFlags; valid if the table has_flags */
} LuGoTableFunction;

/* Returns whether a section is there for the table, whatever it holds. */
gboolean lu_go_table_has_section (const LuElfHeaders *headers);
/* Opens the table. NULL: there is none, or it is damaged. The input is borrowed until
 * lu_go_table_free(). */
LuGoTable *lu_go_table_read (const LuElfHeaders *headers, const LuElfInput *input);
void lu_go_table_free (LuGoTable *self);

guint lu_go_table_n_functions (const LuGoTable *self);
/* Fills in a function by its number, in the order of addresses. FALSE: its entry is damaged. */
gboolean lu_go_table_function (const LuGoTable *self, guint number, LuGoTableFunction *function);
/* Returns whether functions have flags: since Go 1.17. */
gboolean lu_go_table_has_flags (const LuGoTable *self);
/* Returns the name, borrowed until the next call of any function; "" if it is damaged or longer
 * than 1 KiB. */
const char *lu_go_table_name (const LuGoTable *self, const LuGoTableFunction *function);
/* Returns the bytes of the file that names are in: offsets of names count from the first. */
void lu_go_table_extent (const LuGoTable *self, guint64 *file_offset, guint64 *size);

/* Reads the code of a function from the file, at most `size` bytes. Returns the number of bytes; 0
 * if they cannot be read. */
gsize lu_go_table_code (const LuGoTable *self, const LuGoTableFunction *function, guint8 *code,
                        gsize size);

/* The depths of a function's stack, from its start to its end. */
typedef struct
{
  const LuGoTable *table;
  LuCursor cursor;
  guint64 next; /* offset in the table of what the cursor will read */
  guint64 pc;   /* where the next depth begins */
  guint64 end;  /* of the function */
  gint64 depth; /* bytes between the stack pointer and the return address */
  gboolean has_begun;
} LuGoDepths;

void lu_go_table_depths (const LuGoTable *self, const LuGoTableFunction *function,
                         LuGoDepths *depths);
/* Fills in the next range and its depth. FALSE: there are no more, or the rest is damaged. */
gboolean lu_go_depths_next (LuGoDepths *self, guint64 *start, guint64 *end, gint64 *depth);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuGoTable, lu_go_table_free)
