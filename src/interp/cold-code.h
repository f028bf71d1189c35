/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cold-code.h - finds the part of a function that the compiler moved away, in a file without
 * symbols for it.
 *
 * The function jumps into the middle of that part, and no other code would: a jump to another
 * function leads to its beginning. LuArchFiles.looks_like_jump knows jumps. */

#pragma once

#include "interp/language.h"

/* Returns FALSE if there is no such part, or none that is certain. */
gboolean lu_cold_code_find (const LuInterpInput *file, const LuInterpRange *function,
                            LuInterpRange *cold);
