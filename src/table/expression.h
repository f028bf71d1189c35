/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* expression.h - recognizes the few DWARF expressions that occur in call frame information.
 *
 * Expressions are never evaluated here. One without a known shape is "other", and code whose CFA
 * needs it is complex. */

#pragma once

#include "base/cursor.h"
#include "table/state.h"

/* Returns what the bytes from the cursor to its end compute: REGISTER_PLUS, CFA_PLUS (only if
 * `has_cfa`: the CFA was on the stack at the start), DEREF_PLUS, PLT or OTHER. */
LuRegisterRule lu_expression_recognise (LuCursor bytes, gboolean has_cfa, const LuArch *arch);
