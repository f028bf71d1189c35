/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-jumps.h - finds where functions with CFI lead to other code.
 *
 * A function may go on in another one by a jump, as its last act: the return address is then on top
 * of the stack, so the frame of the other function seems to be called by this one's caller. Calls,
 * jumps and addresses in instructions also tell where functions without CFI begin. */

#pragma once

#include "code/code-rows.h"
#include "table/compile.h"

typedef struct
{
  LuExtraRows *rows;  /* gets the jumps; borrowed */
  const GArray *gaps; /* of LuCodeRange, ascending: code without CFI; NULL: leads are not needed */
  GArray *leads;      /* of LuCodeLead, in any order: what leads into the gaps; borrowed */
} LuTailJumps;

/* Adds the jumps that lead out of the code of an FDE, which is `bytes`, where the CFI says that
 * nothing is on the stack but the return address, and what leads into the gaps. Linear in the size,
 * but for a search of the gaps. */
void lu_tail_jumps_add (const LuTailJumps *self, LuCompiler *compiler, const LuFde *fde,
                        const guint8 *bytes);
