/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-rows.h - rows for a file from the instructions of its code. */

#pragma once

#include "table/extra-rows.h"

/* A file with more code and data than this has no rows from instructions. The analysis takes eight
 * times as much memory for a moment. */
#define LU_CODE_MAX_BYTES (32u << 20)

/* Makes rows for all code of the file open as `fd` (borrowed), which is an ELF file of 64 bits.
 * NULL: there are none, the library that decodes instructions is not installed, or it was
 * cancelled. is_cancelled: atomic, NULL for never. */
LuExtraRows *lu_code_rows_make (int fd, const gint *is_cancelled);
