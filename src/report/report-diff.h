/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-diff.h - compares two recordings by function. */

#pragma once

#include "report-profile.h"

/* Prints the functions whose share of the samples changed most, at most `limit`. */
void lu_report_print_diff (const LuProfile *a, const LuProfile *b, guint limit);
