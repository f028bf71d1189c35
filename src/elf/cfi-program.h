/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-program.h - checks which call frame instructions and expressions may reach libdw; used by
 * cfi-guard.c. */

#pragma once

#include "base/cursor.h"

#define LU_CFI_MAX_REGISTER                                                                        \
  128 /* the highest DWARF number in use: x86-64 ends at 125, aarch64 at 127 */

/* Returns whether the whole program (the rest of the cursor) may be executed. */
gboolean lu_cfi_check_program (LuCursor *cursor);
