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

/* Returns the bytes of .debug_frame that describe the table in `section`, or 0 if there is nothing
 * to describe. */
gsize lu_plt_cfi_size (const LuElfHeaders *headers, const LuElfSectionHeader *section,
                       const LuElfInput *input);
/* Writes them to `room`. Returns FALSE if the code is not what it was. */
gboolean lu_plt_describe (const LuElfHeaders *headers, const LuArchText *plt, guint8 *room,
                          gsize size);
