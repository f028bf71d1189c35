/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decompress.h - decompresses a section of an ELF file; used by image.c. */

#pragma once

#include "base/cursor.h"

typedef enum
{
  LU_COMPRESSED_32BIT, /* after an Elf32_Chdr */
  LU_COMPRESSED_64BIT, /* after an Elf64_Chdr */
  LU_COMPRESSED_OLD,   /* after "ZLIB" and the size, big-endian (.zdebug_frame) */
} LuCompressedForm;

/* Bytes at the start of a section that say how large it is. */
#define LU_COMPRESSED_HEAD 24

/* Returns the size that a section claims to have decompressed, from its first LU_COMPRESSED_HEAD
 * bytes; 0 if that is more than 64 MiB. */
gsize lu_decompressed_size (const guint8 head[LU_COMPRESSED_HEAD], LuCompressedForm form);
/* Decompresses a section to `plain`, whose size is exactly the claimed one. Returns FALSE if the
 * section is damaged, in a form that this build does not know, or *is_cancelled (atomic) is set. */
gboolean lu_decompress (LuCursor in, LuCompressedForm form, guint8 *plain, gsize plain_size,
                        const gint *is_cancelled);
