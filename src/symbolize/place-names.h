/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* place-names.h - names for code without a symbol: "libz.so.1.2.13+0x5a40". */

#pragma once

#include <glib.h>

/* Code in no file and without a name. Reports and captures say the same. */
#define LU_PLACE_GENERATED "(generated code)"
#define LU_PLACE_KERNEL    "(kernel)"
#define LU_PLACE_NOWHERE   "(outside every mapping)"

/* Returns the base name of the path, at most 255 bytes of it, and the ELF address: of the start of
 * the function, or else of the code itself. Valid UTF-8, owned by the caller. */
char *lu_place_name (const char *path, guint64 elf_address);
