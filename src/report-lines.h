/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-lines.h - what a report says of source lines, besides showing them with functions. */

#pragma once

#include "output/call-tree.h"

/* The lines of the functions with that name by self, at most `limit`. */
void lu_report_print_hot_lines (const LuCallTree *tree, const char *name, guint limit);
/* Files by frames that have no line, at most `limit`, and why. After lu_model_add_lines(). */
void lu_report_print_without_lines (const LuModel *model, guint limit);
