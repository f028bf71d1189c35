/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-diff-tree.c - two call trees as one, with the shares of both; see report-diff.h.
 *
 * Two nodes are the same if their chains of names and modules are equal. Callers come before
 * callees, as in a call tree. */

#include "report-diff.h"

#include "base/printable.h"
#include "color.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_INDENT 200
/* Columns before a name, and those that names have at least. */
#define NUMBERS  35
#define MIN_ROOM 24

typedef struct
{
  guint32 parent;
  const char *name, *module; /* of either tree */
  double total[2];           /* percent, in A and in B */
  double change;             /* the largest of it and its callees */
} Node;

typedef struct
{
  GArray *nodes;      /* of Node; 0 is everything */
  GHashTable *found;  /* "parent\nname\nmodule" -> number, owned */
  GPtrArray *callees; /* of GArray of guint32, by node; owned */
  double min_points;
  guint width;
} Merged;

static Node *
node_at (const Merged *self, guint32 number)
{
  return &g_array_index (self->nodes, Node, number);
}

static guint32
get_node (Merged *self, guint32 parent, const LuCallNode *node)
{
  const char *name = node->function != NULL ? node->function->full_name : node->name;
  g_autofree char *key = g_strdup_printf ("%u\n%s\n%s", parent, name, node->module);
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->found, key));
  Node new = { .parent = parent, .name = node->name, .module = node->module };

  if (number != 0)
    return number;
  number = self->nodes->len;
  g_array_append_val (self->nodes, new);
  g_hash_table_insert (self->found, g_steal_pointer (&key), GUINT_TO_POINTER (number));
  return number;
}

static void
add_tree (Merged *self, const LuCallTree *tree, guint side)
{
  g_autofree guint32 *numbers = g_new0 (guint32, tree->nodes->len);
  guint64 all = lu_call_tree_node (tree, 0)->total;

  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      const LuCallNode *node = lu_call_tree_node (tree, i);

      numbers[i] = get_node (self, numbers[node->parent], node);
      node_at (self, numbers[i])->total[side] += lu_report_percent (node->total, all);
    }
}

static void
find_changes (Merged *self)
{
  for (guint32 i = self->nodes->len; i-- > 1;)
    {
      Node *node = node_at (self, i);
      Node *parent = node_at (self, node->parent);

      node->change = MAX (node->change, fabs (node->total[1] - node->total[0]));
      parent->change = MAX (parent->change, node->change);
    }
}

static int
compare (gconstpointer a, gconstpointer b, gpointer data)
{
  const Node *x = node_at (data, *(const guint32 *) a), *y = node_at (data, *(const guint32 *) b);

  if (x->change != y->change)
    return x->change > y->change ? -1 : 1;
  return strcmp (x->name, y->name);
}

/* Only those that changed enough. */
static void
list_callees (Merged *self)
{
  self->callees = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  for (guint32 i = 0; i < self->nodes->len; i++)
    g_ptr_array_add (self->callees, g_array_new (FALSE, FALSE, sizeof (guint32)));
  for (guint32 i = 1; i < self->nodes->len; i++)
    if (node_at (self, i)->change >= self->min_points)
      g_array_append_val ((GArray *) g_ptr_array_index (self->callees, node_at (self, i)->parent),
                          i);
  for (guint32 i = 0; i < self->nodes->len; i++)
    g_array_sort_with_data (g_ptr_array_index (self->callees, i), compare, self);
}

static void
print_node (const Merged *self, guint32 number, guint depth)
{
  const Node *node = node_at (self, number);
  guint indent = MIN (depth, self->width > 0 ? self->width - NUMBERS - MIN_ROOM : MAX_INDENT);
  g_autofree char *text = lu_report_with_module (node->name, node->module);
  g_autofree char *name = lu_printable_name (text, strlen (node->name),
                                             self->width > 0 ? self->width - NUMBERS - indent : 0);

  lu_color_print_change (node->total[1] - node->total[0]);
  printf (" %8.2f %% %8.2f %%  %*s%s\n", node->total[0], node->total[1], (int) indent, "", name);
}

/* A tree may be deeper than recursion could be. */
static void
print_nodes (const Merged *self)
{
  g_autofree guint *next = g_new0 (guint, self->nodes->len);
  guint32 node = 0;
  guint depth = 0;

  for (;;)
    {
      const GArray *callees = g_ptr_array_index (self->callees, node);

      if (next[node] < callees->len)
        {
          node = g_array_index (callees, guint32, next[node]++);
          print_node (self, node, depth++);
        }
      else if (node == 0)
        return;
      else
        {
          node = node_at (self, node)->parent;
          depth--;
        }
    }
}

void
lu_diff_print_tree (const LuProfile *a, const LuProfile *b, double min_points)
{
  Merged self = { .nodes = g_array_new (FALSE, TRUE, sizeof (Node)),
                  .found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                  .min_points = min_points,
                  .width = lu_terminal_width () };
  g_autoptr (LuCallTree) tree_a = lu_call_tree_new (a->model, LU_CALL_TREE_ALL_EVENTS);
  g_autoptr (LuCallTree) tree_b = lu_call_tree_new (b->model, LU_CALL_TREE_ALL_EVENTS);

  g_array_set_size (self.nodes, 1);
  add_tree (&self, tree_a, 0);
  add_tree (&self, tree_b, 1);
  find_changes (&self);
  list_callees (&self);
  printf ("%s\n%11s %10s %10s  %s\n", _ ("Call tree"), _ ("change"), _ ("total A"), _ ("total B"),
          _ ("function"));
  print_nodes (&self);
  g_array_unref (self.nodes);
  g_hash_table_unref (self.found);
  g_ptr_array_unref (self.callees);
}
