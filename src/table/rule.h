/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule.h - makes a rule from a state of call frame instructions, and writes a rule as text.
 *
 * Rules are exact. If a rule cannot express the state exactly, it is complex; for FP and BX only,
 * the caller's register becomes unknown instead. */

#pragma once

#include "base/cursor.h"
#include "table/state.h"

/* is_signal: augmentation 'S' of the CIE. */
struct lu_rule lu_rule_make (const LuCfaState *state, gboolean is_signal, const LuArch *arch);

/* Returns whether the state leaves out what the caller has pushed: the frame contains its own
 * return address. Such a state has no rule, and neither has the rest of its function: where the
 * return address is still in the link register, the CFA is as wrong. */
gboolean lu_rule_lacks_push (const LuCfaState *state, gboolean is_signal, const LuArch *arch);

/* Returns text like "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)"; g_free() it. */
char *lu_rule_to_text (const struct lu_rule *rule, const LuArch *arch);

/* The few DWARF expressions that occur in call frame information are recognized, never evaluated.
 * One without a known shape is "other", and code whose CFA needs it is complex. Returns what the
 * bytes from the cursor to its end compute: REGISTER_PLUS, CFA_PLUS (only if `has_cfa`: the CFA was
 * on the stack at the start), DEREF_PLUS, PLT or OTHER. */
LuRegisterRule lu_expression_recognise (LuCursor bytes, gboolean has_cfa, const LuArch *arch);
