/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-symbols.h - the file __symbols__ inside a capture: names by process and address, so that
 * the capture shows them on a machine without the programs.
 *
 *   record[n]: 0 u64 begin | 8 u64 end (exclusive) | 16 u32 pid | 20 u32 name | 24 u32 tag | 28
 * zero one record of zeros, then texts ending in NUL; name and tag are offsets from the file's
 * start
 *
 * Sorted by (pid, begin), nothing overlaps within a pid. Sysprof shows the tag beside the name, and
 * takes symbols with one for the system's; ours have none. */

#pragma once

#include <glib.h>

typedef struct
{
  guint64 begin, end;
  gint32 pid;
  const char *name; /* borrowed */
} LuSyscapSymbol;

/* The bytes of the file, from symbols (of LuSyscapSymbol) in any order, which are sorted; of two
 * that overlap, the one that begins later keeps the common part. At most `limit` bytes: what does
 * not fit is left out and counted. */
GByteArray *lu_syscap_symbols_encode (GArray *symbols, gsize limit, guint *n_left_out);

/* The records in the bytes of such a file. Any bytes are fine. */
guint lu_syscap_symbols_count (const GByteArray *file);
/* The name of the address, or NULL; borrowed. n_records: their count. */
const char *lu_syscap_symbols_find (const GByteArray *file, guint n_records, gint32 pid,
                                    guint64 address);
/* One of the records, by number; FALSE if it has no name. */
gboolean lu_syscap_symbols_get (const GByteArray *file, guint index, LuSyscapSymbol *symbol);
