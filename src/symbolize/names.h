/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.h - names of functions in ELF files of this machine.
 *
 * Looks into .symtab, .dynsym, the small symbol table some distributions embed, and separate debug
 * files that are installed (by build-id, or by debug link with the same build-id). Never asks a
 * server. One thread. */

#pragma once

#include <glib.h>

typedef struct _LuNames LuNames;

LuNames *lu_names_new (void);
void lu_names_free (LuNames *self);

/* The function that holds the byte at `file_offset` of the file, demangled; NULL if the file is not
 * there any more, has another build-id than `build_id` (hexadecimal, NULL: not compared) or no such
 * symbol. Owned by self. */
const char *lu_names_find (LuNames *self, const char *path, const char *build_id,
                           guint64 file_offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuNames, lu_names_free)
