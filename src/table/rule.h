/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule.h - makes a rule of a state of call frame instructions, and writes a rule as text.
 *
 * Exact or not at all: what a rule cannot say exactly makes it complex, or, for FP and BX only,
 * leaves the caller's register unknown. */

#pragma once

#include "lu/row.h"
#include "table/state.h"

/* is_signal: augmentation 'S' of the CIE. */
struct lu_rule lu_rule_make (const LuCfaState *state, gboolean is_signal, const LuTableArch *arch);

/* "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)"; g_free() it. */
char *lu_rule_to_text (const struct lu_rule *rule, const LuTableArch *arch);
