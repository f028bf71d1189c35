/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* aarch64-vdso.h - call frame information for the vDSO of aarch64, which has none.
 *
 * Used by image.c. The kernel builds it without, and describes not even the code that signal
 * handlers return to (since Linux 5.8: 87676cfca141, "arm64: vdso: Disable dwarf unwinding through
 * the sigreturn trampoline"): unwinders know its two instructions, as debuggers always have. What
 * is said here follows from the code itself, and where that is not as expected nothing is said. */

#pragma once

#include "elf/headers.h"
#include "elf/synthetic.h"

/* Makes `debug_frame` if neither section is there yet and the input, which must be in memory, is
 * such an image. */
void lu_aarch64_vdso_describe (const LuElfHeaders *headers, const LuElfInput *input,
                               const LuSyntheticSection *eh_frame, LuSyntheticSection *debug_frame);
