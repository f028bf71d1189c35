/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ruby-code.h - finds Ruby's rb_vm_exec() in a file without a symbol for it (3.3 and later hide
 * it).
 *
 * It calls vm_exec_core(), which jumps by a table of the addresses of all its instructions: more
 * than 150 words that are relocated, one after the other, all into one function. Calls are the ones
 * with the opcode e8. */

#pragma once

#include "interp/language.h"

/* Returns FALSE if there is no such function, or none that is certain. */
gboolean lu_ruby_code_find (const LuInterpInput *file, LuInterpRange *function);
