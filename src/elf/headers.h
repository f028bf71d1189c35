/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* headers.h - reads the headers of an ELF file of either class, from a descriptor or from memory,
 * and checks them.
 *
 * Used for images and for symbols. Bad program headers make the file unusable. Section headers are
 * optional: missing or bad ones count as none. */

#pragma once

#include <glib.h>

/* A source of bytes: either fd (>= 0) or bytes. Both are borrowed. */
typedef struct
{
  int fd;
  const guint8 *bytes;
  guint64 size; /* size of the whole file */
} LuElfInput;

/* Reads exactly `size` bytes at `offset`. Returns FALSE if they are not all there. */
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
  guint16 type, machine;               /* ET_*, EM_* */
  guint64 entry;                       /* 0: no process starts in it */
  LuElfProgramHeader *program_headers; /* owned */
  guint n_program_headers;
  LuElfSectionHeader *section_headers; /* owned; NULL if missing or bad */
  guint n_section_headers;
  char *section_names; /* owned, NUL-terminated */
  gsize section_names_size;
} LuElfHeaders;

/* Fails, with a reason, for anything but a little-endian executable or shared object. */
gboolean lu_elf_headers_read (LuElfHeaders *self, const LuElfInput *input, GError **error);
void lu_elf_headers_clear (LuElfHeaders *self);

/* Returns the first section of that name with bytes in the file, or NULL. */
const LuElfSectionHeader *lu_elf_headers_find_section (const LuElfHeaders *self, const char *name);
/* Reads the build-id from the notes. Returns its size, or 0 if there is none. */
#define LU_MAX_BUILD_ID 64
gsize lu_elf_headers_read_build_id (const LuElfHeaders *self, const LuElfInput *input,
                                    guint8 build_id[LU_MAX_BUILD_ID]);
/* Reads what a segment of the file has at an ELF address. FALSE: none has all of it. */
gboolean lu_elf_headers_read_at (const LuElfHeaders *self, const LuElfInput *input, guint64 address,
                                 gpointer bytes, gsize size);
/* Returns the first program header of that type, or NULL. */
const LuElfProgramHeader *lu_elf_headers_find_program_header (const LuElfHeaders *self,
                                                              guint32 type);
