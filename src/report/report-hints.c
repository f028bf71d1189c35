/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-hints.c - prints how a runtime can be made to name its functions; see report-print.h. */

#include "config.h"

#include "base/printable.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

#define MIN_PERCENT 5

/* The contents of a stack, or-ed. */
enum
{
  GENERATED_UNNAMED = 1 << 0,
  GENERATED_NAMED = 1 << 1,
  PYTHON_LOOP = 1 << 2, /* the function that interprets Python */
  INTERPRETED = 1 << 3, /* functions that an interpreter ran */
};

typedef struct
{
  const char *program; /* pattern */
  const char *advice;  /* untranslated; PID stands for a number */
} Runtime;

static const Runtime runtimes[] = {
  { "java", N_ ("start it with -XX:+PreserveFramePointer, and before the recording ends, run: jcmd "
                "PID Compiler.perfmap") },
  { "node*", N_ ("start it with --perf-basic-prof --interpreted-frames-native-stack") },
  { "python*", N_ ("start it with -X perf (stacks may end there if Python 3.12 was built without "
                   "frame pointers)") },
};

/* Returns whether it is python3.N or libpython3.N.so.1.0 with an N below 12, which names no
 * functions. */
static gboolean
is_old_python (const char *module)
{
  const char *version = strstr (module, "python3.");
  guint minor;

  return version != NULL && sscanf (version, "python3.%u", &minor) == 1 && minor < 12;
}

static guint
contents_of (const LuModelFunction *function)
{
  if (function->kind == LU_CODE_FUNCTION)
    return INTERPRETED;
  if (function->kind == LU_CODE_GENERATED)
    return function->has_name ? GENERATED_NAMED : GENERATED_UNNAMED;
  return g_str_has_prefix (function->name, "_PyEval_EvalFrameDefault")
                 && !is_old_python (function->module)
             ? PYTHON_LOOP
             : 0;
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

static void
print_hint (const LuModel *model, const Runtime *runtime, const guint8 *contents)
{
  g_autofree gboolean *is_interpreted = find_interpreted (model, contents);
  g_autofree guint64 *samples = g_new0 (guint64, model->processes->len + (gsize) 1);
  guint64 all = 0;
  guint32 most = 0;
  const LuModelProcess *process;
  g_autoptr (GString) advice = NULL;
  g_autofree char *pid = NULL, *name = NULL;

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);
      guint32 number = lu_model_thread (model, count.thread)->process;

      process = g_ptr_array_index (model->processes, number);
      if (!lacks_names (contents[count.node]) || is_interpreted[number]
          || !g_pattern_match_simple (runtime->program, process->name))
        continue;
      all += count.n;
      samples[number] += count.n;
      most = samples[number] > samples[most] ? number : most;
    }
  if (all == 0 || all * 100 < model->n_samples * MIN_PERCENT)
    return;
  process = g_ptr_array_index (model->processes, most);
  pid = g_strdup_printf ("%d", process->pid);
  advice = g_string_new (_ (runtime->advice));
  g_string_replace (advice, "PID", pid, 0);
  name = lu_printable (process->name, 0);
  printf (_ ("%.0f %% of the samples lack names of functions of %s: %s\n"),
          100.0 * (double) all / (double) model->n_samples, name, advice->str);
}

void
lu_report_print_hints (const LuModel *model)
{
  g_autofree guint8 *contents = find_contents (model);

  for (guint i = 0; i < G_N_ELEMENTS (runtimes); i++)
    print_hint (model, &runtimes[i], contents);
}
