/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-hints.c - prints how a runtime can be made to name its functions; see report-print.h. */

#include "report-print.h"
#include "symbolize/runtimes.h"

#include <stdio.h>
#include <string.h>

/* The contents of a stack, or-ed. */
enum
{
  GENERATED_UNNAMED = 1 << 0,
  GENERATED_NAMED = 1 << 1,
  PYTHON_LOOP = 1 << 2, /* the function that interprets Python */
  INTERPRETED = 1 << 3, /* functions that an interpreter ran */
};

static guint
contents_of (const LuModelFunction *function)
{
  if (function->kind == LU_CODE_FUNCTION)
    return INTERPRETED;
  if (function->kind == LU_CODE_GENERATED)
    return function->has_name ? GENERATED_NAMED : GENERATED_UNNAMED;
  return g_str_has_prefix (function->name, "_PyEval_EvalFrameDefault") ? PYTHON_LOOP : 0;
}

/* Python without names runs no generated code; with them, each function has some. */
static gboolean
lacks_names (guint contents)
{
  return (contents & GENERATED_UNNAMED)
         || (contents & (PYTHON_LOOP | GENERATED_NAMED)) == PYTHON_LOOP;
}

/* Returns the contents of the stack that ends at each node. Callers have smaller numbers. */
static guint8 *
find_contents (const LuModel *model)
{
  guint32 n = lu_id_table_size (model->nodes);
  guint8 *contents = g_new0 (guint8, n + (gsize) 1);

  for (guint32 i = 1; i <= n; i++)
    contents[i] = (guint8) (contents[lu_model_node (model, i).parent]
                            | contents_of (lu_model_function_of (model, i)));
  return contents;
}

/* Returns whether functions of each process were read from its interpreter, which may have begun
 * after its first samples. */
static gboolean *
find_interpreted (const LuModel *model, const guint8 *contents)
{
  gboolean *is_interpreted = g_new0 (gboolean, model->processes->len + (gsize) 1);

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      if (contents[count.node] & INTERPRETED)
        is_interpreted[lu_model_thread (model, count.thread)->process] = TRUE;
    }
  return is_interpreted;
}

void
lu_report_print_hints (const LuModel *model)
{
  g_autofree guint8 *contents = find_contents (model);
  g_autofree gboolean *is_interpreted = find_interpreted (model, contents);
  g_autofree guint64 *samples = g_new0 (guint64, model->processes->len + (gsize) 1);
  LuRuntimes runtimes = { 0 };

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      if (lacks_names (contents[count.node]))
        samples[lu_model_thread (model, count.thread)->process] += count.n;
    }
  for (guint i = 0; i < model->processes->len; i++)
    {
      const LuModelProcess *process = g_ptr_array_index (model->processes, i);

      if (samples[i] > 0 && !is_interpreted[i])
        lu_runtimes_add (&runtimes, process->name, process->pid, samples[i]);
    }
  for (guint i = 0; i < LU_N_RUNTIMES; i++)
    {
      g_autofree char *hint = lu_runtimes_hint (&runtimes, i, model->n_samples);

      if (hint != NULL)
        puts (hint);
    }
}
