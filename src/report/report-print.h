/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-print.h - prints what reports show, from files named report-*.c. */

#pragma once

#include "profile/call-tree.h"
#include "report-profile.h"

/* Returns 0 if the whole is 0. */
double lu_report_percent (guint64 part, guint64 whole);

/* Returns the values of a table, borrowed, in an array owned by the caller. */
GPtrArray *lu_report_values (GHashTable *table);

/* Prints samples and their share. */
void lu_report_print_share (guint64 samples, guint64 all);

/* Returns "name  [module]", owned by the caller; modules that have brackets get no second pair. */
char *lu_report_with_module (const char *name, const char *module);

/* Prints the tree down to nodes of `min_percent` of all samples. */
void lu_report_print_tree (const LuCallTree *tree, double min_percent);
/* Prints tables of callers and callees of the functions with the full name of this one, at most
 * `limit` lines each. */
void lu_report_print_neighbours (const LuCallTree *tree, const LuModelFunction *function,
                                 guint limit);
/* Returns whether a frame lacks something; it then has a module. Sets *counts to FALSE if no frame
 * of its kind can have it, so that it is left out of the total. */
typedef gboolean LuReportLacks (const LuModel *model, guint32 node, const LuModelFrame *frame,
                                gboolean *counts);
/* Prints files by frames that lack it, at most `limit`, and why (untranslated; NULL: unknown). */
void lu_report_print_lacking (const LuModel *model, const char *title, LuReportLacks *lacks,
                              const char *(*why_of) (const LuModelModule *module), guint limit);
/* Prints files by frames that have no name, at most `limit`, and why. */
void lu_report_print_unnamed (const LuModel *model, guint limit);
/* Prints a line for each runtime whose generated code has no names in 5 % or more of all samples,
 * about what gives it names. */
void lu_report_print_hints (const LuModel *model);
/* Returns the samples of each thread, owned by the caller. */
guint64 *lu_report_count_threads (const LuModel *model);
/* Returns the samples of each process, owned by the caller. */
guint64 *lu_report_count_processes (const LuModel *model);
/* Prints programs by samples, and how many processes and threads they had. */
void lu_report_print_programs (const LuModel *model, guint limit);
/* Prints processes and their threads by samples. */
void lu_report_print_threads (const LuModel *model, guint limit);

/* Call these around lu_model_add_lines() in a command that reads recordings: in between, Ctrl-C
 * only ends the reading of lines (symbolize/lines.h), and a terminal shows a note about that. */
void lu_report_begin_lines (void);
void lu_report_end_lines (void);

/* Prints the lines of these functions by self, at most `limit`. */
void lu_report_print_hot_lines (const LuCallTree *tree, const LuModelFunction *function,
                                guint limit);
typedef enum
{
  LU_REPORT_SOURCE,
  LU_REPORT_CODE_IF_NEEDED, /* instructions, too, if no source is there */
  LU_REPORT_CODE,
} LuReportCode;
/* Prints the source or the instructions of the functions with the full name of this one, with the
 * shares of their lines. After lu_model_add_lines(). */
void lu_report_print_source (const LuModel *model, const LuModelFunction *function,
                             LuReportCode wants_code);
/* An instruction that samples hit. */
typedef struct
{
  guint64 file_offset; /* of one of its bytes */
  guint64 self, total; /* samples */
} LuReportHit;
/* Prints instructions of a module around hits, which are sorted; all: samples of the recording. */
void lu_report_print_code (const LuModelModule *module, const LuReportHit *hits, guint n,
                           guint64 all);
/* Prints both shares in 17 columns, or blanks. */
void lu_report_print_line_shares (guint64 self, guint64 total, guint64 all);
/* Prints files by frames that have no line, at most `limit`, and why. After lu_model_add_lines().
 */
void lu_report_print_without_lines (const LuModel *model, guint limit);

/* Prints one line about the whole recording. */
void lu_report_print_head (const LuProfile *profile, const char *path);
/* Prints at most `limit` of these functions (of LuReportFunction) by total. Sorts them. */
void lu_report_print_functions (const LuProfile *profile, GPtrArray *functions, const char *title,
                                guint limit);
/* Prints at most `limit` functions by self and by total, and the end states. Sorts them. */
void lu_report_print_tables (LuProfile *profile, guint limit);
/* A file whose debug file is not on this machine but can be had. */
typedef struct
{
  const LuModelModule *module;
  guint64 n;     /* samples with a function in it that has no symbol */
  char *package; /* what to install, owned; "": nothing, a server has it */
} LuReportMissing;
/* Returns those that would name functions of 5 % of the samples or more (of LuReportMissing), most
 * first, owned by the caller. *command gets the command that makes all of them available, owned;
 * NULL if there is none. */
GPtrArray *lu_report_find_missing (const LuModel *model, char **command);
/* Fills in the packages of those that dpkg has installed, by the lists in its directory. FALSE:
 * there is no such directory. */
gboolean lu_report_find_packages (const char *directory, GPtrArray *all);
/* Prints them, if there are any. */
void lu_report_print_missing (const LuModel *model);
/* Prints a report for programs: one JSON object. */
void lu_report_print_json (LuProfile *profile);
