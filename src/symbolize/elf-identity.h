/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-identity.h - what an ELF file says of itself and of its debug file.
 *
 * Used for symbols (elf-symbols.h) and for files found or fetched for them. All of it may be
 * hostile. */

#pragma once

#include "elf/headers.h"

typedef struct
{
  char *build_id;    /* hexadecimal; NULL: none */
  char *debug_link;  /* the name in .gnu_debuglink, without a folder; NULL: none */
  guint32 debug_crc; /* of the debug file that the link means */
  gboolean has_debug_crc, is_64bit;
} LuElfIdentity;

/* Fills `self`, which the caller clears. */
void lu_elf_identity_read (LuElfIdentity *self, const LuElfInput *input,
                           const LuElfHeaders *headers);
void lu_elf_identity_clear (LuElfIdentity *self);

/* Whether another file is the debug file of this one. The build-ids decide; where one is missing,
 * the checksum, for which the other file is read whole. */
gboolean lu_elf_identity_is_debug_file (const LuElfIdentity *self, const LuElfInput *other,
                                        const LuElfHeaders *headers);

/* Fills both for the regular file behind `fd` (borrowed); the caller clears the headers. FALSE: it
 * is no ELF file. */
gboolean lu_elf_file_read_headers (int fd, LuElfInput *input, LuElfHeaders *headers);

/* Whether the file behind `fd` (borrowed) is an ELF file with this build-id, hexadecimal. */
gboolean lu_elf_file_has_build_id (int fd, const char *build_id);
