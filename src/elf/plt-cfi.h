/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt-cfi.h - makes call frame information for a procedure linkage table that has none.
 *
 * Used by image.c and image-cfi.c. On some architectures no linker describes the table
 * (LuArchFiles.describe_plt); the entries follow from the code, and code that looks different gets
 * none. */

#pragma once

#include "arch/arch.h"
#include "elf/headers.h"

/* A table in a file, and the entries of .debug_frame that describe it. */
typedef struct
{
  guint64 file_offset, vaddr;
  gsize size;      /* of the table, in bytes */
  gsize made_size; /* of the entries, in bytes; 0: there are none */
} LuPltCfi;

/* Finds what the table in `section` needs. */
void lu_plt_cfi_measure (LuPltCfi *self, const LuElfHeaders *headers,
                         const LuElfSectionHeader *section, const LuElfInput *input);
/* Writes the made_size bytes of entries to `room`, which is `offset` bytes behind the beginning of
 * its section. bytes: the table. Returns FALSE if they are not what they were. */
gboolean lu_plt_cfi_write (const LuPltCfi *self, const LuElfHeaders *headers, const guint8 *bytes,
                           guint8 *room, gsize offset);
