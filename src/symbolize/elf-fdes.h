/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-fdes.h - where the functions of an ELF file begin and end, for code without a symbol.
 *
 * Each function has an FDE of its own in .eh_frame, which stays when a file is stripped, so
 * answers are the same with and without debug files. Code that was written in assembler may share
 * one FDE, or have none. .debug_frame does not count: only files with symbols have it. Used by
 * namer.c; one thread. */

#pragma once

#include "symbolize/elf-file.h"

typedef struct _LuElfFdes LuElfFdes;

/* Reads the file's .eh_frame into memory (at most 64 MiB). budget: borrowed; NULL: no limits. NULL
 * if there is none, or if it is too large, too slow, or of a machine whose tables are not known. */
LuElfFdes *lu_elf_fdes_new (const LuElfFile *file, LuBudget *budget);
void lu_elf_fdes_free (LuElfFdes *self);

/* Finds the function with the code at an ELF address; *start and *end are ELF addresses. FALSE if
 * no FDE covers it. */
gboolean lu_elf_fdes_find (LuElfFdes *self, guint64 vaddr, guint64 *start, guint64 *end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuElfFdes, lu_elf_fdes_free)
