/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-symbols.h - goes through the symbols of a file that may have an interpreter. */

#pragma once

#include "interp/language.h"

typedef struct
{
  const char *name;      /* borrowed */
  guint64 address, size; /* ELF address; bytes */
} LuFileSymbol;

typedef void (*LuFileSymbolFunc) (const LuFileSymbol *symbol, gpointer user_data);

/* Calls `func` for each defined function and object of .dynsym and .symtab, and again for one that
 * both have. Tables of more than 32 MiB are left out. */
void lu_file_symbols_each (const LuInterpInput *file, LuFileSymbolFunc func, gpointer user_data);
/* Returns the bytes of a section and a NUL after them, owned by the caller; NULL if there is no
 * such section in the file, or it has more than 32 MiB. */
char *lu_file_section_read (const LuInterpInput *file, const char *name, gsize *size);
