/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-guard.h - keeps hostile call frame information away from libdw.
 *
 * Used by image.c on its private copy, once per file. libdw trusts CFI more than a profiler that
 * runs as root can: a register number of 10^8 makes it allocate gigabytes, DW_OP_deref_size in a
 * CFA expression or DW_OP_div of the smallest integer by -1 crashes it, and a search table may lead
 * it to bytes that are not an entry. Output of compilers passes unchanged. Afterwards libdw cannot
 * find entries that did not pass. */

#pragma once

#include "base/cursor.h"

typedef struct
{
  guint8 *bytes; /* borrowed, written to by lu_cfi_guard_walk() */
  guint64 size;
  guint64 vaddr;        /* ELF address of the first byte */
  gboolean is_eh_frame; /* otherwise .debug_frame */
  guint8 address_size;  /* 4 or 8 */
} LuCfiSection;

/* Limit for entries (CIEs and FDEs) of a section without a search table: libdw keeps each in a
 * tree, about 130 bytes per process. */
#define LU_CFI_MAX_WALKED 200000

/* Checks all entries from the start, disables each FDE that does not pass, and sets `size` to the
 * end of the entries. Returns the number of FDEs that remain. */
guint lu_cfi_guard_walk (LuCfiSection *section, guint *n_refused);

/* Returns whether every entry of the search table (.eh_frame_hdr) leads to an FDE that passes, and
 * the table is sorted and in the only form that linkers write (version 1, 0x1b 0x03 0x3b). Changes
 * nothing. If FALSE, the table must not be used; walk the section instead. */
gboolean lu_cfi_guard_check_table (const LuCfiSection *section, const guint8 *table,
                                   gsize table_size, guint64 table_vaddr, guint *n_fdes);
/* Reads the address of .eh_frame from the header. Returns FALSE if the header is not in the form
 * above. */
gboolean lu_cfi_table_eh_frame (const guint8 *table, gsize table_size, guint64 table_vaddr,
                                guint64 *vaddr);

/* The highest DWARF number in use (LU_ARCH_MAX_REGISTER). */
#define LU_CFI_MAX_REGISTER 128

/* Returns whether the whole program (the rest of the cursor) may be executed. */
gboolean lu_cfi_check_program (LuCursor *cursor);
