/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vdso.h - call frame information for the vDSO. */

#pragma once

#include "arch/arch.h"

/* See LuArch.describe_vdso. */
GByteArray *lu_aarch64_describe_vdso (const LuArchText *text, const LuArchRange *functions,
                                      guint n_functions);
