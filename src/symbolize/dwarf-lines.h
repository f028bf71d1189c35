/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwarf-lines.h - reads lines and inlined functions of one file with libdw, and the format of the
 * answers.
 *
 * DWARF is hostile and libdw trusts it, so it is read in a process of its own (lines.c), which may
 * end at any moment, also by a signal. The answers go through a pipe, one compilation unit after
 * the other, beginning with the unit of the first address. The process runs after a fork() of a
 * program with threads, so it allocates with malloc() only and does not use GLib.
 *
 *   text:   u32 1 | u32 size | bytes               numbered from 1 in this order
 *   answer: u32 2 | u32 address number | u32 n | n times 5 u32, the innermost function first:
 *           function, its file, its line, file, line (functions and files are numbers of texts;
 *           0: not known)
 *   end:    u32 3 | u32 1 if the file has DWARF, otherwise 0 */

#pragma once

#include <glib.h>

#define LU_DWARF_TEXT   1u
#define LU_DWARF_ANSWER 2u
#define LU_DWARF_END    3u
/* The largest number of nested functions at one address; those further out are left out. */
#define LU_DWARF_MAX_LEVELS 64

/* Reads the file `fd` and writes answers for these ELF addresses, in any order, to `output`. The
 * process cannot open any file afterwards. */
void lu_dwarf_lines_write (int fd, const guint64 *addresses, guint n_addresses, int output);
