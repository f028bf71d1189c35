/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-lines.c - prints lines of functions, and files without lines; see report-print.h. */

#include "base/printable.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  const LuModelFunction *function;
  guint64 self;
} Line;

void
lu_report_begin_lines (void)
{
  signal (SIGINT, SIG_IGN);
  if (isatty (STDERR_FILENO))
    fputs (_ ("Reading lines (Ctrl-C leaves out the rest)"), stderr);
}

void
lu_report_end_lines (void)
{
  if (isatty (STDERR_FILENO))
    fputs ("\r\033[K", stderr);
  signal (SIGINT, SIG_DFL);
}

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  const Line *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  if (x->self != y->self)
    return x->self > y->self ? -1 : 1;
  return x->function->line < y->function->line ? -1 : x->function->line > y->function->line;
}

static void
print_line (const Line *line, guint64 all)
{
  const LuModelFunction *function = line->function;
  g_autofree char *where =
      function->line > 0
          ? g_strdup_printf ("%s:%u%s", function->file != NULL ? function->file : "?",
                             function->line, function->is_inlined ? " (inlined)" : "")
          : g_strdup (_ ("(line not known)"));
  g_autofree char *text = lu_printable (where, 0);

  lu_report_print_share (line->self, all);
  printf ("  %s\n", text);
}

void
lu_report_print_hot_lines (const LuCallTree *tree, const LuModelFunction *function, guint limit)
{
  g_autoptr (GHashTable) lines = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GPtrArray) sorted = NULL;

  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      const LuCallNode *node = lu_call_tree_node (tree, i);
      gpointer key = GUINT_TO_POINTER (node->name_id + 1);
      Line *line;

      if (node->function == NULL || node->self == 0
          || strcmp (node->function->full_name, function->full_name) != 0)
        continue;
      line = g_hash_table_lookup (lines, key);
      if (line == NULL)
        {
          line = g_new0 (Line, 1);
          line->function = node->function;
          g_hash_table_insert (lines, key, line);
        }
      line->self += node->self;
    }
  sorted = lu_report_values (lines);
  g_ptr_array_sort (sorted, compare_lines);
  printf ("\n%s\n", _ ("Lines by self"));
  for (guint i = 0; i < MIN (limit, sorted->len); i++)
    print_line (g_ptr_array_index (sorted, i), lu_call_tree_node (tree, 0)->total);
}

static gboolean
lacks_line (const LuModel *model, guint32 node, const LuModelFrame *frame, gboolean *counts)
{
  *counts = frame->kind == LU_CODE_USER;
  return *counts && frame->line == 0;
}

static const char *
why_without_lines (const LuModelModule *module)
{
  return module->without_lines;
}

void
lu_report_print_without_lines (const LuModel *model, guint limit)
{
  lu_report_print_lacking (model, _ ("Frames without a line, by file"), lacks_line,
                           why_without_lines, limit);
}
