/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rows.c - adds up the window; see rows.h.
 *
 * The nodes of the model's tree come after their parents, so two passes over all nodes add up
 * everything, however many samples there are. */

#include "rows.h"

#include "base/fd.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS    1000
#define MAX_CALLERS 200
#define MAX_DEPTH   32
/* Callers below this share of the samples of the function are left out. */
#define MIN_CALLER_PERCENT 1
#define COMM_SIZE          64
/* New names are shown at once, not with the next table, if they are more than one in as many. */
#define MANY_UNNAMED 50

typedef struct
{
  guint32 parent, function;
  guint32 first, next; /* called by it, and by the same caller; only those with samples; 0: none */
  guint64 self, total; /* samples */
  gboolean is_outermost; /* no call of the same function goes on there */
} Node;

typedef struct
{
  guint64 self, total;
} Sum;

typedef struct
{
  const LuTopQuery *query;
  const LuModel *model;
  LuTopNames *names;
  guint32 n_functions; /* that were there when samples were added up; more may come */
  guint n_nodes;
  Node *nodes;              /* node n is nodes[n] */
  guint64 *selves, *totals; /* by function */
  guint32 *n_open;          /* calls that go on, by function */
  LuTopTable *table;
} Adding;

/* A node where the function, or something that it called, was met. */
typedef struct
{
  guint32 node, function;
  guint64 n;
} Met;

static void
row_clear (gpointer pointer)
{
  g_free (((LuTopRow *) pointer)->text);
}

void
lu_top_table_free (LuTopTable *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_array_unref (self->callers);
  g_free (self);
}

static gboolean
is_asked_for (const LuTopQuery *query, const LuModelThread *thread)
{
  return (query->pid == 0 || thread->pid == query->pid)
         && (query->tid == 0 || thread->tid == query->tid);
}

/* Functions */

static void
add_nodes (Adding *self)
{
  for (guint32 i = 0; i < lu_model_n_counts (self->model); i++)
    {
      LuModelCount count = lu_model_count (self->model, i);

      if (count.n == 0 || !is_asked_for (self->query, lu_model_thread (self->model, count.thread)))
        continue;
      self->nodes[count.node].self += count.n;
      self->table->n_samples += count.n;
    }
  for (guint32 i = self->n_nodes; i > 0; i--)
    {
      Node *node = &self->nodes[i];
      guint64 key = *lu_id_table_key (self->model->nodes, i - 1);

      node->parent = (guint32) (key >> 32);
      node->total += node->self;
      self->nodes[node->parent].total += node->total;
      if (node->total == 0)
        continue;
      node->next = self->nodes[node->parent].first;
      self->nodes[node->parent].first = i;
    }
}

/* Adds a node to its function. A call of the function by itself adds nothing to the total. */
static void
enter (Adding *self, guint32 at)
{
  Node *node = &self->nodes[at];

  node->function = lu_top_names_of_frame (self->names, lu_model_node (self->model, at).frame);
  node->is_outermost = self->n_open[node->function]++ == 0;
  self->selves[node->function] += node->self;
  if (node->is_outermost)
    self->totals[node->function] += node->total;
}

/* Goes through all nodes with samples, a caller before all that it called. */
static void
add_functions (Adding *self)
{
  gsize n = lu_top_names_n_functions (self->names) + 1;
  guint32 at = self->nodes[0].first;

  self->n_functions = (guint32) n - 1;
  self->selves = g_renew (guint64, self->selves, n);
  self->totals = g_renew (guint64, self->totals, n);
  self->n_open = g_renew (guint32, self->n_open, n);
  memset (self->selves, 0, n * sizeof *self->selves);
  memset (self->totals, 0, n * sizeof *self->totals);
  memset (self->n_open, 0, n * sizeof *self->n_open);
  while (at != 0)
    {
      enter (self, at);
      if (self->nodes[at].first != 0)
        {
          at = self->nodes[at].first;
          continue;
        }
      for (; self->nodes[at].next == 0 && at != 0; at = self->nodes[at].parent)
        self->n_open[self->nodes[at].function]--;
      if (at != 0)
        {
          self->n_open[self->nodes[at].function]--;
          at = self->nodes[at].next;
        }
    }
}

static char *
function_text (const Adding *self, guint32 number)
{
  const LuTopFunction *function = lu_top_names_function (self->names, number);

  return function->module[0] != 0 ? g_strdup_printf (
             function->module[0] == '[' ? "%s  %s" : "%s  [%s]", function->name, function->module)
                                  : g_strdup (function->name);
}

static void
add_row (const Adding *self, guint32 number, guint64 id, Sum sum)
{
  LuTopRow row = { .number = number, .id = id, .self = sum.self, .total = sum.total };

  if (sum.total > 0)
    g_array_append_val (self->table->rows, row);
}

static void
add_function_rows (const Adding *self)
{
  for (guint32 i = 1; i <= self->n_functions; i++)
    add_row (self, i, i, (Sum){ self->selves[i], self->totals[i] });
}

/* Callers */

static int
compare_met (gconstpointer a, gconstpointer b)
{
  const Met *x = a, *y = b;

  return x->function < y->function ? -1 : x->function > y->function;
}

static int
compare_groups (gconstpointer a, gconstpointer b)
{
  const Met *x = a, *y = b;

  return x->n > y->n ? -1 : x->n < y->n;
}

/* Sorts by the function that called and returns the sum of each (of Met; node: the first one's
 * index). Owned by the caller. */
static GArray *
group_by_caller (const Adding *self, GArray *met)
{
  GArray *groups = g_array_new (FALSE, FALSE, sizeof (Met));

  for (guint i = 0; i < met->len; i++)
    {
      Met *one = &g_array_index (met, Met, i);

      one->node = self->nodes[one->node].parent;
      one->function = self->nodes[one->node].function;
    }
  g_array_sort (met, compare_met);
  for (guint i = 0; i < met->len; i++)
    {
      const Met *one = &g_array_index (met, Met, i);
      Met group = { .node = i, .function = one->function };

      if (groups->len == 0
          || g_array_index (groups, Met, groups->len - 1).function != one->function)
        g_array_append_val (groups, group);
      g_array_index (groups, Met, groups->len - 1).n += one->n;
    }
  g_array_sort (groups, compare_groups);
  return groups;
}

/* Adds a line for each function that called, the most samples first, below it those that called
 * it, and so on. `met` is used up. */
static void
add_callers (const Adding *self, GArray *met, guint depth)
{
  g_autoptr (GArray) groups = group_by_caller (self, met);
  guint64 least = self->totals[self->query->function] * MIN_CALLER_PERCENT / 100;

  for (guint i = 0; i < groups->len && self->table->callers->len < MAX_CALLERS; i++)
    {
      const Met *group = &g_array_index (groups, Met, i);
      g_autoptr (GArray) next = g_array_new (FALSE, FALSE, sizeof (Met));
      LuTopRow row = { .id = group->function, .total = group->n, .depth = depth };

      /* 0: nothing called, or a frame that is no code */
      if (group->function == 0 || group->n < MAX (least, 1))
        continue;
      row.text = function_text (self, group->function);
      g_array_append_val (self->table->callers, row);
      for (guint k = group->node;
           k < met->len && g_array_index (met, Met, k).function == group->function; k++)
        g_array_append_val (next, g_array_index (met, Met, k));
      if (depth < MAX_DEPTH)
        add_callers (self, next, depth + 1);
    }
}

static void
find_callers (const Adding *self)
{
  g_autoptr (GArray) met = g_array_new (FALSE, FALSE, sizeof (Met));
  guint32 function = self->query->function;

  if (!self->query->has_callers || function == 0 || function > self->n_functions)
    return;
  for (guint32 i = 1; i <= self->n_nodes; i++)
    if (self->nodes[i].total > 0 && self->nodes[i].function == function
        && self->nodes[i].is_outermost)
      {
        Met one = { .node = i, .n = self->nodes[i].total };

        g_array_append_val (met, one);
      }
  add_callers (self, met, 1);
}

/* Processes and threads */

static char *
process_text (const Adding *self, guint32 number)
{
  const LuModelProcess *process = g_ptr_array_index (self->model->processes, number);

  return g_strdup_printf ("%7d  %s", process->pid, process->labels.command_line);
}

/* Threads are named by the kernel as long as they live, or else like their process. */
static char *
thread_text (const Adding *self, guint32 number)
{
  const LuModelThread *thread = lu_model_thread (self->model, number);
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d/comm", thread->pid, thread->tid);
  g_autofree char *comm = lu_fd_read_file (path, COMM_SIZE, NULL);

  return g_strdup_printf ("%7d %7d  %s", thread->pid, thread->tid,
                          comm != NULL ? g_strchomp (comm)
                                       : lu_model_process_of (self->model, number)->name);
}

/* Adds a row for each process or thread. */
static void
add_task_rows (const Adding *self)
{
  const LuModel *model = self->model;
  gboolean has_threads = self->query->view == LU_TOP_THREADS;
  guint n = has_threads ? model->threads->len : model->processes->len;
  g_autofree Sum *sums = g_new0 (Sum, n + 1);

  for (guint32 i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);
      const LuModelThread *thread = lu_model_thread (model, count.thread);
      Sum *sum = &sums[has_threads ? count.thread : thread->process];

      if (is_asked_for (self->query, thread))
        sum->total = sum->self += count.n;
    }
  for (guint32 i = 0; i < n; i++)
    {
      const LuModelThread *thread = has_threads ? lu_model_thread (model, i) : NULL;
      const LuModelProcess *process = has_threads ? NULL : g_ptr_array_index (model->processes, i);
      guint64 pid = (guint32) (has_threads ? thread->pid : process->pid);

      add_row (self, i, pid << 32 | (guint32) (has_threads ? thread->tid : 0), sums[i]);
    }
}

static int
compare_rows (gconstpointer a, gconstpointer b, gpointer data)
{
  const LuTopRow *x = a, *y = b;
  gboolean by_total = ((const LuTopQuery *) data)->by_total;
  guint64 p = by_total ? x->total : x->self, q = by_total ? y->total : y->self;

  if (p == q)
    {
      p = x->total;
      q = y->total;
    }
  return p != q ? (p > q ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

static gboolean
passes (const LuTopQuery *query, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *folded = g_utf8_casefold (valid, -1);
  g_autofree char *part = query->filter != NULL ? g_utf8_casefold (query->filter, -1) : NULL;

  return part == NULL || strstr (folded, part) != NULL;
}

/* Keeps the first rows that pass the filter, and gives them their texts. */
static void
add_texts (const Adding *self)
{
  static char *(*const texts[]) (const Adding *, guint32) = { function_text, process_text,
                                                              thread_text };
  GArray *rows = self->table->rows;
  guint n = 0;

  for (guint i = 0; i < rows->len && n < MAX_ROWS; i++)
    {
      LuTopRow row = g_array_index (rows, LuTopRow, i);

      row.text = texts[self->query->view](self, row.number);
      if (!passes (self->query, row.text))
        {
          g_free (row.text);
          continue;
        }
      g_array_index (rows, LuTopRow, i).text = NULL;
      g_array_index (rows, LuTopRow, n++) = row;
    }
  g_array_set_size (rows, n);
}

static void
add_up (Adding *self, guint generation)
{
  self->n_nodes = lu_id_table_size (self->model->nodes);
  self->nodes = g_new0 (Node, self->n_nodes + 1);
  lu_top_names_update (self->names, self->model, generation);
  add_nodes (self);
  do
    add_functions (self);
  while (lu_top_names_run (self->names, self->totals) > self->table->n_samples / MANY_UNNAMED);
}

LuTopTable *
lu_top_table_new (const LuTopWindow *window, LuTopNames *names, const LuTopQuery *query)
{
  LuTopTable *table = g_new0 (LuTopTable, 1);
  Adding self = { .query = query, .names = names, .table = table };
  guint generation;

  table->rows = g_array_new (FALSE, FALSE, sizeof (LuTopRow));
  g_array_set_clear_func (table->rows, row_clear);
  table->callers = g_array_new (FALSE, FALSE, sizeof (LuTopRow));
  g_array_set_clear_func (table->callers, row_clear);
  self.model = lu_top_window_model (window, &generation);
  if (self.model == NULL)
    return table;
  table->seconds = lu_top_window_seconds (window);
  table->n_lost = lu_top_window_n_lost (window);
  add_up (&self, generation);
  if (query->view == LU_TOP_FUNCTIONS)
    add_function_rows (&self);
  else
    add_task_rows (&self);
  g_array_sort_with_data (table->rows, compare_rows, (gpointer) query);
  add_texts (&self);
  find_callers (&self);
  g_free (self.nodes);
  g_free (self.selves);
  g_free (self.totals);
  g_free (self.n_open);
  return table;
}
