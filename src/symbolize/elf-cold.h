/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-cold.h - which function a part that the compiler moved away belongs to.
 *
 * gcc moves the unlikely code of "work" elsewhere and calls it "work.cold". It is the same
 * function, and only the name leads back to it. Static functions of several units may have the
 * name; in .symtab the symbols of a unit follow the name of its source. Used by namer.c. */

#pragma once

#include "symbolize/elf-symbols.h"

typedef struct
{
  char *function_name; /* owned; lu_cold_function_name() of its symbol */
  guint64 start;       /* file offset of the part */
  guint64 function;    /* out: file offset of the function; G_MAXUINT64: not known, or several */
} LuColdPart;

/* Returns the name of the function if a symbol names a cold part ("work.cold", "work.cold.3"), or
 * NULL. Owned by the caller. */
char *lu_cold_function_name (const char *symbol);
/* Fills in `function` of all parts (of LuColdPart) from the .symtab. */
void lu_cold_parts_join (const LuElfSymbols *symbols, GArray *parts);
/* Clears an element of an array. */
void lu_cold_part_clear (gpointer part);
