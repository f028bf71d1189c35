/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* aarch64-vdso.h - makes call frame information for the vDSO of aarch64, which has none.
 *
 * Used by image.c. Since Linux 5.8 the kernel does not even describe the code that signal handlers
 * return to (87676cfca141, "arm64: vdso: Disable dwarf unwinding through the sigreturn
 * trampoline"). Unwinders and debuggers recognize its two instructions. The entries made here
 * follow from the code; code that looks different gets none. */

#pragma once

#include "elf/synthetic.h"

/* Makes `debug_frame` if the image has no CFI section and the input, which must be in memory, is
 * such a vDSO. */
void lu_aarch64_vdso_describe (const LuElfHeaders *headers, const LuElfInput *input,
                               const LuSyntheticSection *eh_frame, LuSyntheticSection *debug_frame);
