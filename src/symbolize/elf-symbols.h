/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-symbols.h - the functions of one ELF file, by address.
 *
 * They come from .symtab of the file, or else of its debug file; without either, from .dynsym, from
 * the small table that some distributions embed (.gnu_debugdata), and from that of a Go program.
 * Entries of the PLT are named after the function they lead to. Only addresses are kept in memory,
 * and only those of symbols that can name one of the wanted offsets; names are read on demand. One
 * thread. */

#pragma once

#include "symbolize/elf-file.h"

#include <elf.h>

typedef struct _LuElfSymbols LuElfSymbols;

typedef struct
{
  guint64 start, end; /* file offsets of the function, end exclusive */
  const char *name;   /* as in the file, without the version; with "@plt" for an entry of the PLT */
} LuElfSymbol;

/* Takes the contents of `file`, which is empty afterwards. wanted: the offsets that will be looked
 * up, in any order; symbols that matter to none of them are not kept. NULL: all symbols. budget:
 * borrowed; NULL: no limits. A table that cannot be read within it counts as missing. */
LuElfSymbols *lu_elf_symbols_new (LuElfFile *file, const GArray *wanted, LuBudget *budget);
/* Opens borrowed bytes, for example the vDSO. NULL if they are no ELF file. */
LuElfSymbols *lu_elf_symbols_new_from_memory (gconstpointer bytes, gsize size, GError **error);
void lu_elf_symbols_free (LuElfSymbols *self);

/* Returns the file, borrowed. */
const LuElfFile *lu_elf_symbols_file (const LuElfSymbols *self);
/* Tells whether a debug file would name more: there is no .symtab yet. */
gboolean lu_elf_symbols_wants_debug_file (const LuElfSymbols *self);
/* Takes the contents of the file's debug file. FALSE if that has no .symtab; then it stays with the
 * caller. */
gboolean lu_elf_symbols_take_debug_file (LuElfSymbols *self, LuElfFile *debug_file);

/* Finds the function with the byte at that offset of the file. Fills in `symbol`, whose name is
 * borrowed until the next call; FALSE if there is none. The first call sorts. */
gboolean lu_elf_symbols_find (LuElfSymbols *self, guint64 file_offset, LuElfSymbol *symbol);

/* Asks for other offsets from now on; see lu_elf_symbols_new(). */
void lu_elf_symbols_want (LuElfSymbols *self, const GArray *wanted);

/* Called for each entry of the .symtab that names come from, in its order. name: in memory, "" if
 * it is not there. */
typedef void (*LuElfSymbolFunc) (const LuElfSymbols *self, const Elf64_Sym *symbol,
                                 const char *name, gpointer user_data);
/* FALSE if there is no .symtab, or reading it costs too much. */
gboolean lu_elf_symbols_each (const LuElfSymbols *self, LuElfSymbolFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuElfSymbols, lu_elf_symbols_free)
