/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-rule.h - libdw's rule for one address as text, for comparison with a rule of the table.
 *
 * Used by the check engine for the few places that it reports: slow, keeps nothing. */

#pragma once

#include "dwfl-address-space.h"

/* "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)", or another answer of libdw; g_free() it.
 * `address`: run-time, inside the mapping, which is one that can be unwound through. */
char *lu_dwfl_rule_to_text (const LuDwflMapping *mapping, guint64 address, const LuArch *arch);
