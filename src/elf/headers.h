/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* headers.h - the headers of one ELF file, read from a descriptor or from memory, checked, class
 * removed.
 *
 * Used for images and for symbols. Program headers must be right or the file is refused; section
 * headers are a help: when they are missing or lie, there are none. */

#pragma once

#include <glib.h>

/* Where the bytes come from: exactly one of fd (>= 0, borrowed) and bytes (borrowed). */
typedef struct
{
  int fd;
  const guint8 *bytes;
  guint64 size; /* of the whole file */
} LuElfInput;

/* Reads exactly `size` bytes at `offset`; FALSE if they are not all there. */
gboolean lu_elf_input_read (const LuElfInput *self, guint64 offset, gpointer bytes, gsize size);

typedef struct
{
  guint32 type, flags; /* PT_*, PF_* */
  guint64 file_offset, vaddr, file_size, memory_size, align;
} LuElfProgramHeader;

typedef struct
{
  guint32 name; /* offset in the string table */
  guint32 type; /* SHT_* */
  guint64 flags, vaddr, file_offset, size;
} LuElfSectionHeader;

typedef struct
{
  gboolean is_64bit;
  guint16 type, machine; /* ET_*, EM_* */
  guint64 entry;
  LuElfProgramHeader *program_headers; /* owned */
  guint n_program_headers;
  LuElfSectionHeader *section_headers; /* owned; NULL if there are none to trust */
  guint n_section_headers;
  char *section_names; /* owned, NUL-terminated */
  gsize section_names_size;
} LuElfHeaders;

/* Fails, with the reason, for what is not a little-endian executable or shared object. */
gboolean lu_elf_headers_read (LuElfHeaders *self, const LuElfInput *input, GError **error);
void lu_elf_headers_clear (LuElfHeaders *self);

/* The first section of that name that has bytes in the file, or NULL. */
const LuElfSectionHeader *lu_elf_headers_find_section (const LuElfHeaders *self, const char *name);
/* The first program header of that type, or NULL. */
const LuElfProgramHeader *lu_elf_headers_find_program_header (const LuElfHeaders *self,
                                                              guint32 type);
