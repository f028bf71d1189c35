/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-jumps.h - finds the jumps by which a function with CFI goes on in another one, as its last
 * act: the return address is then on top of the stack, so the frame of the other function seems to
 * be called by this one's caller. */

#pragma once

#include "table/compile.h"
#include "table/extra-rows.h"

/* Adds the jumps that lead out of the code of an FDE, which is `bytes`, where the CFI says that
 * nothing is on the stack but the return address. Linear in the size. */
void lu_tail_jumps_add (LuExtraRows *rows, LuCompiler *compiler, const LuFde *fde,
                        const guint8 *bytes);
