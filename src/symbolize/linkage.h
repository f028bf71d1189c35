/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* linkage.h - what a file calls by name, and what it defines for others; used by tail-calls.c.
 *
 * Code of a file reaches functions of others through its procedure linkage table or through words
 * of the global offset table. Both lead to a name, and the .dynsym of each file says what has that
 * name there. One thread. */

#pragma once

#include "symbolize/elf-file.h"

typedef struct _LuLinkage LuLinkage;

/* The meaning of a name in a file. */
typedef enum
{
  LU_LINKAGE_NONE,  /* the file does not define it */
  LU_LINKAGE_ONE,   /* one function */
  LU_LINKAGE_OTHER, /* several of different versions, or what is chosen at run time (IFUNC), or data
                     */
} LuLinkageKind;

/* Reads the .dynsym, at most 64 MiB with its names. budget: borrowed; NULL: no limits. Never NULL:
 * without a table nothing is found. */
LuLinkage *lu_linkage_new (const LuElfFile *file, LuBudget *budget);
void lu_linkage_free (LuLinkage *self);

/* Returns the name of what the entry of a linkage table at an ELF address leads to, or NULL.
 * Borrowed. */
const char *lu_linkage_of_entry (const LuLinkage *self, guint64 address);
/* Returns the name of what the word at an ELF address points to, or NULL. Borrowed. */
const char *lu_linkage_of_slot (const LuLinkage *self, guint64 address);
/* Finds what the word of data at an ELF address points to when the file is loaded, if that is in
 * the file. Linkers sort the relocations that say so; where they are not sorted, nothing is found.
 * budget: borrowed. */
gboolean lu_linkage_find_pointer (const LuElfFile *file, guint64 address, LuBudget *budget,
                                  guint64 *pointer);
/* Finds what the file defines by that name; sets *address to the ELF address of the one function.
 */
LuLinkageKind lu_linkage_find (LuLinkage *self, const char *name, guint64 *address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuLinkage, lu_linkage_free)
