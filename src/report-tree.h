/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-tree.h - a call tree as text, and what calls and is called by a function. */

#pragma once

#include "output/call-tree.h"

/* A text that is safe to print, cut to `width` characters (0: not cut). Owned by the caller. */
char *lu_report_printable (const char *text, guint width);
/* The same of a text whose first `head` bytes are a name: what follows stays, the name is cut. */
char *lu_report_printable_name (const char *text, gsize head, guint width);
/* Columns of the terminal; 0: standard output is none. */
guint lu_report_width (void);

/* 0 of nothing. */
double lu_report_percent (guint64 part, guint64 whole);

/* The values of a table, borrowed, in an array of the caller's. */
GPtrArray *lu_report_values (GHashTable *table);

/* The tree down to nodes of `min_percent` of all samples. */
void lu_report_print_tree (const LuCallTree *tree, double min_percent);
/* Tables of callers and callees of the functions with that name, at most `limit` lines each. FALSE
 * if there is none. */
gboolean lu_report_print_neighbours (const LuCallTree *tree, const char *name, guint limit);
/* Whether this frame lacks something; then it is in a module. *counts: FALSE if it could not have
 * it, and is none of all frames. */
typedef gboolean LuReportLacks (const LuModel *model, guint32 node, const LuModelFrame *frame,
                                gboolean *counts);
/* Files by frames that lack it, at most `limit`, and why (untranslated; NULL: not known). */
void lu_report_print_lacking (const LuModel *model, const char *title, LuReportLacks *lacks,
                              const char *(*why_of) (const LuModelModule *module), guint limit);
/* Files by frames that have no name, at most `limit`, and why. */
void lu_report_print_unnamed (const LuModel *model, guint limit);
/* Processes and their threads by samples. */
void lu_report_print_threads (const LuModel *model, guint limit);
