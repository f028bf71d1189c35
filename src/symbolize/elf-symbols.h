/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-symbols.h - the functions of one ELF file, by address.
 *
 * From .symtab, of the file or else of its debug file; without either from .dynsym and the small
 * table that some distributions embed (.gnu_debugdata). Entries of the PLT are named after the
 * function they lead to. Only addresses are kept in memory, names are read when they are asked for.
 * The file may be hostile and may shrink meanwhile: it is read with pread() and never mapped. One
 * thread. */

#pragma once

#include <glib.h>

typedef struct _LuElfSymbols LuElfSymbols;

typedef struct
{
  guint64 start, end; /* file offsets of the function, end exclusive */
  char *name;         /* as in the file, without the version; with "@plt" for an entry of the PLT */
} LuElfSymbol;

/* Reads the file behind `fd` (borrowed, to be kept open while self lives). Fails for what is no
 * ELF file. */
LuElfSymbols *lu_elf_symbols_new (int fd, GError **error);
/* The same from bytes in memory (borrowed): the vDSO. */
LuElfSymbols *lu_elf_symbols_new_from_memory (gconstpointer bytes, gsize size, GError **error);
void lu_elf_symbols_free (LuElfSymbols *self);

/* Hexadecimal; NULL if the file has none. */
const char *lu_elf_symbols_build_id (const LuElfSymbols *self);
/* Whether a debug file would name more: the file has no .symtab. */
gboolean lu_elf_symbols_wants_debug_file (const LuElfSymbols *self);
/* The name of the debug file that the file mentions; NULL if there is none. */
const char *lu_elf_symbols_debug_link (const LuElfSymbols *self);
/* Takes the symbols of a debug file (fd borrowed, to be kept open). FALSE if it is another's, or
 * has no .symtab. The build-ids decide; where one is missing, the checksum that the file has of
 * its debug file. */
gboolean lu_elf_symbols_add_debug_file (LuElfSymbols *self, int fd);

/* The function that holds the byte at that offset of the file. Fills `symbol`, whose name the
 * caller frees; FALSE if there is none. The first call sorts. */
gboolean lu_elf_symbols_find (LuElfSymbols *self, guint64 file_offset, LuElfSymbol *symbol);

/* Whether the one behind `fd` (borrowed) is its debug file, as above. */
gboolean lu_elf_symbols_is_debug_file (const LuElfSymbols *self, int fd);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuElfSymbols, lu_elf_symbols_free)
