/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-plt.h - finds which function each entry of a procedure linkage table leads to.
 *
 * An entry jumps through a word of the global offset table, and a relocation says which symbol's
 * address belongs there. This holds for every layout that linkers produce (.plt, .plt.sec,
 * .plt.got); LuArchFiles.read_plt_entry knows the code. Used by elf-symbols.c and linkage.c. */

#pragma once

#include "symbolize/elf-file.h"

/* start: ELF address of the entry; size: bytes; symbol: index in .dynsym. */
typedef void (*LuElfPltFunc) (guint64 start, guint64 size, guint32 symbol, gpointer user_data);

/* Calls `func` with `entries` for each entry that is understood, in the order of the sections, and
 * with `slots`, unless that is NULL, for each word that a relocation sets to the address of a
 * symbol, in the order of addresses: code without a linkage table calls and jumps through such
 * words. */
void lu_elf_linkage_each (const LuElfFile *file, LuBudget *budget, LuElfPltFunc func,
                          gpointer entries, gpointer slots);
