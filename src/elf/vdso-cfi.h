/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* vdso-cfi.h - makes call frame information for a vDSO that has none.
 *
 * Used by image.c. Architectures whose kernels leave it out know what to say
 * (LuArchFiles.describe_vdso); the entries follow from the code, and code that looks different gets
 * none. */

#pragma once

#include "elf/synthetic.h"

/* Makes `debug_frame` if the image has no CFI section and the input, which must be in memory, is
 * such a vDSO. */
void lu_vdso_describe (const LuElfHeaders *headers, const LuElfInput *input,
                       const LuSyntheticSection *eh_frame, LuSyntheticSection *debug_frame);
