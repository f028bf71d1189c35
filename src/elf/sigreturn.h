/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sigreturn.h - the code that signal handlers return to on aarch64, which has no call frame
 * information.
 *
 * Used by image.c for the vDSO. Since Linux 5.8 (87676cfca141, "arm64: vdso: Disable dwarf
 * unwinding through the sigreturn trampoline") unwinders know the two instructions themselves, as
 * debuggers always have. They are given here the information that the kernel had for them. */

#pragma once

#include "elf/headers.h"
#include "elf/synthetic.h"

/* Makes `debug_frame` (empty so far) describe it, if it is in the executable segments of the input,
 * which must be in memory. */
void lu_sigreturn_describe (const LuElfHeaders *headers, const LuElfInput *input,
                            LuSyntheticSection *debug_frame);
