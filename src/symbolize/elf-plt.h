/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-plt.h - which function each entry of a procedure linkage table leads to (x86-64).
 *
 * An entry jumps through a word of the global offset table, and a relocation says which symbol's
 * address belongs there; so every layout that linkers make (.plt, .plt.sec, .plt.got) is read the
 * same way. Used by elf-symbols.c. */

#pragma once

#include "elf/headers.h"

/* start, size: ELF addresses of the entry; symbol: number in .dynsym. */
typedef void (*LuElfPltFunc) (guint64 start, guint64 size, guint32 symbol, gpointer user_data);

void lu_elf_plt_each (const LuElfInput *input, const LuElfHeaders *headers, LuElfPltFunc func,
                      gpointer user_data);
