/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi.h - call frame information for code that has none. */

#pragma once

#include "arch/arch.h"

/* See LuArchFiles. */
GByteArray *lu_aarch64_describe_vdso (const LuArchText *text, const LuArchRange *functions,
                                      guint n_functions);
GByteArray *lu_aarch64_describe_plt (const LuArchText *plt, gsize offset);
gsize lu_aarch64_read_plt_entry (const guint8 *code, gsize size, guint64 address, guint64 *slot);
