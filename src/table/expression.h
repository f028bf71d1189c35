/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.h - recognises the few DWARF expressions that occur in call frame information.
 *
 * Expressions are never evaluated here: one that has none of the known shapes is "other", and code
 * whose CFA needs it is complex. */

#pragma once

#include "base/cursor.h"
#include "table/state.h"

/* What the bytes from the cursor to its end compute: REGISTER_PLUS, CFA_PLUS (only if `has_cfa`:
 * the CFA was on the stack at the start), DEREF_PLUS, PLT or OTHER. */
LuPlace lu_expression_recognise (LuCursor bytes, gboolean has_cfa, const LuTableArch *arch);
