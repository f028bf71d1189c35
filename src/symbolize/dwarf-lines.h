/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-lines.h - lines and inlined functions of one file, read with libdw.
 *
 * Runs in a process of its own (lines.c), because DWARF is hostile and libdw trusts it: that
 * process may end at any moment, by a signal too. What it finds goes through a pipe, compilation
 * unit by compilation unit, that of the first address first. Allocates with malloc() only, no GLib:
 * it runs behind a fork() of a program with threads.
 *
 *   text:   u32 1 | u32 size | bytes               numbered from 1 in this order
 *   answer: u32 2 | u32 address number | u32 levels | levels times 5 u32, the innermost first:
 *           function, its file, its line, file, line (functions and files: numbers of texts; 0: not
 *           known)
 *   end:    u32 3 | u32 whether the file has any DWARF */

#pragma once

#include <glib.h>

#define LU_DWARF_TEXT   1u
#define LU_DWARF_ANSWER 2u
#define LU_DWARF_END    3u
/* Inlined functions inside each other at one address; those further out are left out. */
#define LU_DWARF_MAX_LEVELS 64

/* Reads the file behind `fd` and writes what it says of these addresses (of the ELF file, in any
 * order) to `output`. While it reads, nothing can be opened. */
void lu_dwarf_lines_write (int fd, const guint64 *addresses, guint n_addresses, int output);
