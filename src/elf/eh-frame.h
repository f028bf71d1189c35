/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* eh-frame.h - finds .eh_frame and its search table in a file.
 *
 * Used for images and by symbolize, which reads where functions begin. The header (PT_GNU_EH_FRAME)
 * determines where .eh_frame is, as it does for the program's own unwinder, and the segments
 * determine its position in the file. A section at the same address only tells where it ends.
 * Rewritten files (BOLT) have several. */

#pragma once

#include "elf/headers.h"

/* A part of a file. */
typedef struct
{
  guint64 vaddr, file_offset; /* ELF address; offset of its first byte */
  guint64 size;               /* 0: there is none */
} LuElfPart;

/* Fills in both as the file claims them: they may reach beyond the end of the file. */
void lu_elf_find_eh_frame (const LuElfHeaders *headers, const LuElfInput *input, LuElfPart *table,
                           LuElfPart *eh_frame);
/* Cuts a part at the end of the file. A part beyond it, or larger than 64 MiB, becomes empty: the
 * largest programs, browsers and compilers, have some 30 MB. */
void lu_elf_part_clip (LuElfPart *part, const LuElfInput *input);
