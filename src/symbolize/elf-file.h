/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-file.h - an open ELF file, its headers, and what it says about itself and its debug file.
 *
 * Symbols (elf-symbols.h) and lines (lines.h) are read from such files. All contents may be
 * hostile, and a file may shrink at any time: it is read with pread() and never mapped. */

#pragma once

#include "elf/headers.h"
#include "symbolize/files.h"

typedef struct
{
  LuElfInput input; /* its descriptor is owned */
  LuElfHeaders headers;
  char *build_id;    /* hexadecimal; NULL: none */
  char *debug_link;  /* the name in .gnu_debuglink, without a directory; NULL: none */
  guint32 debug_crc; /* checksum of the file that the link names */
  gboolean has_debug_crc;
} LuElfFile;

/* Each of these fills in `self`, which the caller clears. After FALSE there is nothing to clear. */

/* Takes the descriptor of a regular file. */
gboolean lu_elf_file_open (LuElfFile *self, int fd, GError **error);
/* Reads borrowed bytes instead, for example the vDSO. */
gboolean lu_elf_file_open_memory (LuElfFile *self, gconstpointer bytes, gsize size, GError **error);
/* Opens the file that was mapped. Sets *is_no_elf if a file was found that is not ELF. */
gboolean lu_elf_file_open_mapped (LuElfFile *self, const LuNameFile *file, gboolean *is_no_elf);
/* Opens the next debug file of `program`, which `file` describes. *candidate is 0 at first and
 * counts the places that were tried. FALSE if there are no more. */
gboolean lu_elf_file_open_debug (LuElfFile *self, const LuElfFile *program, const LuNameFile *file,
                                 guint *candidate);

void lu_elf_file_clear (LuElfFile *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuElfFile, lu_elf_file_clear)

/* Returns the executable segment with that byte of the file, or with that ELF address; NULL if
 * there is none. */
const LuElfProgramHeader *lu_elf_file_code_at_offset (const LuElfFile *self, guint64 file_offset);
const LuElfProgramHeader *lu_elf_file_code_at_address (const LuElfFile *self, guint64 vaddr);

/* Tells whether the descriptor (borrowed) leads to an ELF file with this hexadecimal build-id. */
gboolean lu_elf_file_has_build_id (int fd, const char *build_id);
