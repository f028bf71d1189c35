/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-tree.c - prints call trees, callers, callees and threads; see report-print.h. */

#include "report-print.h"

#include "base/printable.h"
#include "color.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Columns before a name in the tree. */
#define TREE_NUMBERS 28
#define MAX_INDENT   200
/* Columns that the names in a tree have at least. */
#define MIN_ROOM 24
/* Columns before a name in other tables. */
#define NUMBERS         19
#define PROGRAM_NUMBERS 39
/* Columns of a thread's name, as the kernel cuts it, and those before its program. */
#define THREAD_NAME    15
#define THREAD_NUMBERS 53

typedef struct
{
  const LuCallNode *node; /* one of them */
  guint64 total;
} Neighbour;

typedef struct
{
  const LuCallTree *tree;
  guint32 *first_child, *next_sibling; /* by node, children by samples; 0: none */
  guint64 limit;                       /* samples */
  guint width;
} TreePrinter;

GPtrArray *
lu_report_values (GHashTable *table)
{
  GPtrArray *values = g_ptr_array_sized_new (g_hash_table_size (table));
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, table);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_ptr_array_add (values, value);
  return values;
}

double
lu_report_percent (guint64 part, guint64 whole)
{
  return whole > 0 ? 100.0 * (double) part / (double) whole : 0.0;
}

void
lu_report_print_share (guint64 samples, guint64 all)
{
  printf ("%8" G_GUINT64_FORMAT " ", samples);
  lu_color_print_percent (lu_report_percent (samples, all));
}

/* Ends a line with a function. */
static void
print_name (LuCodeKind kind, const char *name)
{
  lu_color_print (kind == LU_CODE_KERNEL ? LU_COLOR_DIM : LU_COLOR_NONE, "%s", name);
  putchar ('\n');
}

char *
lu_report_with_module (const char *name, const char *module)
{
  if (module[0] == 0)
    return g_strdup (name);
  return g_strdup_printf (module[0] == '[' ? "%s  %s" : "%s  [%s]", name, module);
}

static char *
text_of (const LuCallNode *node)
{
  g_autofree char *text = lu_call_node_add_folded (node, lu_call_node_text (node));

  return lu_report_with_module (text, node->module);
}

/* The tree */

static int
compare_nodes (gconstpointer a, gconstpointer b, gpointer data)
{
  const LuCallNode *x = lu_call_tree_node (data, *(const guint32 *) a);
  const LuCallNode *y = lu_call_tree_node (data, *(const guint32 *) b);

  if (x->total != y->total)
    return x->total < y->total ? -1 : 1;
  return strcmp (y->name, x->name);
}

/* Children are added in the order of their samples, smallest first, each to the front. */
static void
link_children (TreePrinter *self)
{
  guint n = self->tree->nodes->len;
  g_autofree guint32 *order = g_new (guint32, n);

  for (guint32 i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) n, sizeof order[0], compare_nodes, (gpointer) self->tree);
  self->first_child = g_new0 (guint32, n);
  self->next_sibling = g_new0 (guint32, n);
  for (guint32 i = 0; i < n; i++)
    {
      guint32 node = order[i], parent = lu_call_tree_node (self->tree, node)->parent;

      if (node == 0)
        continue;
      self->next_sibling[node] = self->first_child[parent];
      self->first_child[parent] = node;
    }
}

static void
print_node (const TreePrinter *self, guint32 number, guint depth)
{
  const LuCallNode *node = lu_call_tree_node (self->tree, number);
  guint64 all = lu_call_tree_node (self->tree, 0)->total;
  guint indent = MIN (depth, self->width > 0 ? self->width - TREE_NUMBERS - MIN_ROOM : MAX_INDENT);
  guint room = self->width - TREE_NUMBERS - indent;
  g_autofree char *text = text_of (node);
  g_autofree char *name = lu_printable_name (text, strlen (node->name), self->width > 0 ? room : 0);

  lu_report_print_share (node->total, all);
  putchar (' ');
  lu_color_print_percent (lu_report_percent (node->self, all));
  printf ("  %*s", (int) indent, "");
  print_name (node->kind, name);
}

/* Returns `node` if it is to be printed, or 0: its next siblings have fewer samples still. */
static guint32
if_large (const TreePrinter *self, guint32 node)
{
  return node != 0 && lu_call_tree_node (self->tree, node)->total >= self->limit ? node : 0;
}

/* Prints everything below the root. A tree may be deeper than recursion could be. */
static void
print_nodes (const TreePrinter *self)
{
  guint32 node = if_large (self, self->first_child[0]);
  guint depth = 0;

  while (node != 0)
    {
      guint32 next = if_large (self, self->first_child[node]);

      print_node (self, node, depth);
      depth += next != 0;
      while (next == 0 && node != 0)
        {
          next = if_large (self, self->next_sibling[node]);
          if (next == 0)
            {
              node = lu_call_tree_node (self->tree, node)->parent;
              depth -= node != 0;
            }
        }
      node = next;
    }
}

void
lu_report_print_tree (const LuCallTree *tree, double min_percent)
{
  TreePrinter self = { .tree = tree, .width = lu_terminal_width () };
  guint64 all = lu_call_tree_node (tree, 0)->total;

  self.limit = MAX ((guint64) ((double) all * min_percent / 100.0), 1);
  link_children (&self);
  printf ("\n%s\n%17s %8s  %s\n", _ ("Call tree"), _ ("total"), _ ("self"), _ ("function"));
  print_nodes (&self);
  g_free (self.first_child);
  g_free (self.next_sibling);
}

/* Callers and callees */

static void
add_neighbour (GHashTable *table, const LuCallNode *node, guint64 samples)
{
  gpointer key = GUINT_TO_POINTER (node->name_id + 1);
  Neighbour *neighbour = g_hash_table_lookup (table, key);

  if (neighbour == NULL)
    {
      neighbour = g_new0 (Neighbour, 1);
      neighbour->node = node;
      g_hash_table_insert (table, key, neighbour);
    }
  neighbour->total += samples;
}

static int
compare_neighbours (gconstpointer a, gconstpointer b)
{
  const Neighbour *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  if (x->total != y->total)
    return x->total > y->total ? -1 : 1;
  return strcmp (x->node->name, y->node->name);
}

static void
print_neighbours (GHashTable *table, const char *title, guint limit, guint64 all)
{
  g_autoptr (GPtrArray) sorted = lu_report_values (table);
  guint width = lu_terminal_width ();

  g_ptr_array_sort (sorted, compare_neighbours);
  printf ("\n%s\n", title);
  for (guint i = 0; i < MIN (limit, sorted->len); i++)
    {
      const Neighbour *neighbour = g_ptr_array_index (sorted, i);
      g_autofree char *text = text_of (neighbour->node);
      g_autofree char *name =
          lu_printable_name (text, strlen (neighbour->node->name), width > 0 ? width - NUMBERS : 0);

      lu_report_print_share (neighbour->total, all);
      fputs ("  ", stdout);
      print_name (neighbour->node->kind, name);
    }
}

/* Recursive calls count once: the outermost one has the caller, and the innermost one the callee.
 */
void
lu_report_print_neighbours (const LuCallTree *tree, const LuModelFunction *function, guint limit)
{
  g_autoptr (GHashTable) callers = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GHashTable) callees = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autofree gboolean *is_inside = g_new0 (gboolean, tree->nodes->len);
  g_autofree guint32 *callee = g_new0 (guint32, tree->nodes->len); /* 0: the function itself */
  guint64 all = lu_call_tree_node (tree, 0)->total, total = 0, self = 0;
  g_autofree char *readable = lu_printable (function->name, 0);

  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      const LuCallNode *node = lu_call_tree_node (tree, i);
      const LuCallNode *parent = lu_call_tree_node (tree, node->parent);
      gboolean is_it =
          node->function != NULL && strcmp (node->function->full_name, function->full_name) == 0;

      if (is_it && !is_inside[node->parent])
        {
          total += node->total;
          add_neighbour (callers, parent, node->total);
        }
      is_inside[i] = is_it || is_inside[node->parent];
      self += is_it ? node->self : 0;
      if (!is_inside[i] || is_it)
        continue;
      callee[i] = callee[node->parent] != 0 ? callee[node->parent] : i;
      if (node->self > 0)
        add_neighbour (callees, lu_call_tree_node (tree, callee[i]), node->self);
    }
  printf (_ ("\n%s: total %" PRIu64 " (%.2f %%), self %" PRIu64 " (%.2f %%)\n"), readable, total,
          lu_report_percent (total, all), self, lu_report_percent (self, all));
  print_neighbours (callers, _ ("Callers"), limit, all);
  print_neighbours (callees, _ ("Callees"), limit, all);
}

/* Files by frames that lack something */

typedef struct
{
  const LuModelModule *module;
  guint64 n;
} Lacking;

static int
compare_lacking (gconstpointer a, gconstpointer b)
{
  const Lacking *x = a, *y = b;

  return x->n > y->n ? -1 : x->n < y->n;
}

static guint64
count_lacking (const LuModel *model, LuReportLacks *lacks, GArray *modules)
{
  guint64 all = 0;

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    for (guint32 node = lu_model_count (model, i).node; node != 0;
         node = lu_model_node (model, node).parent)
      {
        const LuModelFrame *frame = lu_model_frame (model, lu_model_node (model, node).frame);
        guint64 n = lu_model_count (model, i).n;
        gboolean counts = TRUE;

        if (lacks (model, node, frame, &counts))
          g_array_index (modules, Lacking, frame->module).n += n;
        all += counts ? n : 0;
      }
  return all;
}

/* A line for a file. If a path is too long, its directories are cut first, then the reason. */
static void
print_lacking (const Lacking *lacking, const char *why, guint64 all)
{
  guint width = lu_terminal_width ();
  const char *colon = why != NULL ? ": " : "";
  g_autofree char *text = g_strconcat (lacking->module->path, colon, why, NULL);
  g_autofree char *short_text = g_strconcat (lacking->module->base_name, colon, why, NULL);
  gboolean fits = width == 0 || g_utf8_strlen (text, -1) <= (glong) width - NUMBERS;
  g_autofree char *line = lu_printable (fits ? text : short_text, width > 0 ? width - NUMBERS : 0);

  printf ("%8" G_GUINT64_FORMAT " %6.2f %%  %s\n", lacking->n, lu_report_percent (lacking->n, all),
          line);
}

void
lu_report_print_lacking (const LuModel *model, const char *title, LuReportLacks *lacks,
                         const char *(*why_of) (const LuModelModule *module), guint limit)
{
  g_autoptr (GArray) modules = g_array_new (FALSE, TRUE, sizeof (Lacking));
  guint64 all;

  g_array_set_size (modules, model->modules->len);
  for (guint i = 0; i < modules->len; i++)
    g_array_index (modules, Lacking, i).module = g_ptr_array_index (model->modules, i);
  all = count_lacking (model, lacks, modules);
  g_array_sort (modules, compare_lacking);
  for (guint i = 0; i < MIN (limit, modules->len); i++)
    {
      const Lacking *lacking = &g_array_index (modules, Lacking, i);
      const char *why = why_of (lacking->module);

      if (lacking->n == 0)
        break;
      if (i == 0)
        printf ("\n%s\n", title);
      print_lacking (lacking, why != NULL ? _ (why) : NULL, all);
    }
}

static gboolean
lacks_name (const LuModel *model, guint32 node, const LuModelFrame *frame, gboolean *counts)
{
  *counts = frame->kind != LU_CODE_STATE;
  return frame->module != G_MAXUINT32 && !lu_model_function_of (model, node)->has_name;
}

static const char *
why_without_names (const LuModelModule *module)
{
  return module->is_generated ? N_ ("generated code; no perf map, no jitdump")
                              : module->without_names;
}

void
lu_report_print_unnamed (const LuModel *model, guint limit)
{
  lu_report_print_lacking (model, _ ("Frames without a symbol, by file"), lacks_name,
                           why_without_names, limit);
}

/* Threads */

static int
compare_threads (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint64 *samples = data;
  guint64 x = samples[*(const guint32 *) a], y = samples[*(const guint32 *) b];

  return x > y ? -1 : x < y;
}

guint64 *
lu_report_count_threads (const LuModel *model)
{
  guint64 *samples = g_new0 (guint64, model->threads->len + 1);

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      samples[count.thread] += count.n;
    }
  return samples;
}

guint64 *
lu_report_count_processes (const LuModel *model)
{
  g_autofree guint64 *of_threads = lu_report_count_threads (model);
  guint64 *samples = g_new0 (guint64, model->processes->len + 1);

  for (guint i = 0; i < model->threads->len; i++)
    samples[lu_model_thread (model, i)->process] += of_threads[i];
  return samples;
}

void
lu_report_print_threads (const LuModel *model, guint limit)
{
  guint n = model->threads->len;
  g_autofree guint64 *samples = lu_report_count_threads (model);
  g_autofree guint32 *order = g_new (guint32, n + 1);

  for (guint32 i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) n, sizeof order[0], compare_threads, samples);
  printf ("\n%s\n%17s %8s %8s  %-15s %s\n", _ ("Threads"), _ ("samples"), _ ("process"),
          _ ("thread"), _ ("name"), _ ("program"));
  for (guint i = 0; i < MIN (n, limit) && samples[order[i]] > 0; i++)
    {
      const LuModelThread *thread = lu_model_thread (model, order[i]);
      guint width = lu_terminal_width ();
      g_autofree char *name =
          lu_printable (lu_model_process_of (model, order[i])->labels.command_line,
                        width > 0 ? width - THREAD_NUMBERS : 0);
      g_autofree char *thread_name = lu_printable (thread->name, THREAD_NAME);
      int padding = THREAD_NAME - (int) g_utf8_strlen (thread_name, -1);

      printf ("%8" G_GUINT64_FORMAT " %6.2f %% %8d %8d  %s%*s %s\n", samples[order[i]],
              lu_report_percent (samples[order[i]], model->n_samples), thread->pid, thread->tid,
              thread_name, padding, "", name);
    }
}

/* Programs */

typedef struct
{
  const char *name; /* borrowed from the model */
  guint64 samples;
  guint n_processes, n_threads; /* that were sampled */
} Program;

static int
compare_programs (gconstpointer a, gconstpointer b)
{
  const Program *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  if (x->samples != y->samples)
    return x->samples > y->samples ? -1 : 1;
  return strcmp (x->name, y->name);
}

/* Returns name -> Program. */
static GHashTable *
count_programs (const LuModel *model)
{
  GHashTable *programs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  g_autofree guint64 *of_threads = lu_report_count_threads (model);
  g_autofree guint8 *is_counted = g_new0 (guint8, model->processes->len + 1);

  for (guint32 i = 0; i < model->threads->len; i++)
    {
      const LuModelProcess *process = lu_model_process_of (model, i);
      guint32 number = lu_model_thread (model, i)->process;
      Program *program = g_hash_table_lookup (programs, process->name);

      if (of_threads[i] == 0)
        continue;
      if (program == NULL)
        {
          program = g_new0 (Program, 1);
          program->name = process->name;
          g_hash_table_insert (programs, process->name, program);
        }
      program->samples += of_threads[i];
      program->n_processes += is_counted[number] == 0;
      program->n_threads++;
      is_counted[number] = 1;
    }
  return programs;
}

void
lu_report_print_programs (const LuModel *model, guint limit)
{
  g_autoptr (GHashTable) programs = count_programs (model);
  g_autoptr (GPtrArray) sorted = lu_report_values (programs);
  guint width = lu_terminal_width ();

  g_ptr_array_sort (sorted, compare_programs);
  printf ("\n%s\n%17s %10s %8s  %s\n", _ ("Programs"), _ ("samples"), _ ("processes"),
          _ ("threads"), _ ("program"));
  for (guint i = 0; i < MIN (limit, sorted->len); i++)
    {
      const Program *program = g_ptr_array_index (sorted, i);
      g_autofree char *name = lu_printable (program->name, width > 0 ? width - PROGRAM_NUMBERS : 0);

      printf ("%8" G_GUINT64_FORMAT " %6.2f %% %10u %8u  %s\n", program->samples,
              lu_report_percent (program->samples, model->n_samples), program->n_processes,
              program->n_threads, name);
    }
}
