/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-lines.h - prints source lines apart from the tables of functions. */

#pragma once

#include "profile/call-tree.h"

/* Call these around lu_model_add_lines() in a command that reads recordings: in between, Ctrl-C
 * only ends the reading of lines (symbolize/lines.h), and a terminal shows a note about that. */
void lu_report_begin_lines (void);
void lu_report_end_lines (void);

/* Prints the lines of the functions with that name by self, at most `limit`. */
void lu_report_print_hot_lines (const LuCallTree *tree, const char *name, guint limit);
/* Prints files by frames that have no line, at most `limit`, and why. After lu_model_add_lines().
 */
void lu_report_print_without_lines (const LuModel *model, guint limit);
