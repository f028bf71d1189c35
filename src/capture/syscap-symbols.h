/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-symbols.h - the file __symbols__ inside a capture: names by process and address, so that
 * the capture shows names on a machine without the programs.
 *
 *   record[n]: 0 u64 begin | 8 u64 end (exclusive) | 16 u32 pid | 20 u32 name | 24 u32 tag |
 *              28 u32 function
 *   then one record of zeros, then texts that end in NUL
 *
 * name and tag are offsets from the start of the file. Records are sorted by (pid, begin) and do
 * not overlap within a pid. Sysprof shows the tag beside the name and takes symbols with a tag for
 * those of the system; ours have none. Sysprof does not use the last word: ours tells functions of
 * one name apart. Its highest bit says that the name is a place, because there is no symbol. */

#pragma once

#include <glib.h>

typedef struct
{
  guint64 begin, end;
  gint32 pid;
  const char *name; /* borrowed */
  guint32 function; /* the same for one function everywhere, below 2^31; 0: not told apart */
  gboolean is_place;
} LuSyscapSymbol;

/* Returns the bytes of the file, owned by the caller. symbols: of LuSyscapSymbol in any order,
 * which are sorted. If two overlap, the one that begins later keeps the common part. Symbols beyond
 * `limit` bytes are left out and counted. */
GByteArray *lu_syscap_symbols_encode (GArray *symbols, gsize limit, guint *n_left_out);

/* Counts the records of a file. Any bytes are fine. */
guint lu_syscap_symbols_count (const GByteArray *file);
/* Finds the symbol of the address; FALSE if there is none. n_records: as counted above. */
gboolean lu_syscap_symbols_find (const GByteArray *file, guint n_records, gint32 pid,
                                 guint64 address, LuSyscapSymbol *symbol);
/* Reads the record with that index; FALSE if it has no name. */
gboolean lu_syscap_symbols_get (const GByteArray *file, guint index, LuSyscapSymbol *symbol);
