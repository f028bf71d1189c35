/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rows.h - the window added up: the lines that `top` shows. One thread. */

#pragma once

#include "names.h"
#include "window.h"

typedef enum
{
  LU_TOP_FUNCTIONS,
  LU_TOP_PROCESSES,
  LU_TOP_THREADS,
} LuTopView;

/* A question. */
typedef struct
{
  LuTopView view;
  gboolean by_total;    /* sort functions by total instead of self */
  char *filter;         /* part of a line's text, in any case; owned; NULL: all */
  gint32 pid, tid;      /* only these samples; 0: all */
  gboolean has_callers; /* also the callers of `function` */
  guint32 function;
} LuTopQuery;

typedef struct
{
  guint64 id;          /* the same in the next table: a function, a pid, or pid and tid */
  guint32 number;      /* of the function, process or thread, in the model */
  guint64 self, total; /* samples */
  char *text;          /* as it is: it may have unprintable characters; owned */
  guint depth;         /* of a caller: 1 calls the function itself */
} LuTopRow;

typedef struct
{
  GArray *rows, *callers; /* of LuTopRow */
  guint64 n_samples;      /* that pid and tid leave */
  guint64 n_lost;         /* of all samples of the window */
  double seconds;         /* between the first and the last sample of the window */
} LuTopTable;

/* Adds up the window; reads names in the meantime. Owned by the caller. */
LuTopTable *lu_top_table_new (const LuTopWindow *window, LuTopNames *names,
                              const LuTopQuery *query);
void lu_top_table_free (LuTopTable *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTopTable, lu_top_table_free)
