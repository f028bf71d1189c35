/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-tree.c - adds samples up by chains of functions; see call-tree.h.
 *
 * Each stack of the model is followed once for each program in which it occurs, because the node of
 * the call tree is remembered. */

#include "call-tree.h"

/* A node of the call tree, and how often in a row its function calls itself. */
typedef struct
{
  guint32 node, n_calls;
} Known;

typedef struct
{
  const LuModel *model;
  LuCallTree *tree;
  LuIdTable *children;  /* (parent, name) -> node - 1 */
  LuIdTable *known;     /* (node of the program, node of the model) */
  GArray *nodes_known;  /* of Known, by id in `known` */
  GHashTable *programs; /* name of a program or thread -> name id + 1 */
  guint32 n_functions;
} Builder;

static guint32
get_child (Builder *self, guint32 parent, const LuCallNode *node)
{
  guint32 id = lu_id_table_add (self->children, (guint64) parent << 32 | node->name_id, 0);

  if (id + 1 == self->tree->nodes->len)
    g_array_append_val (self->tree->nodes, *node);
  return id + 1;
}

static guint32
get_program (Builder *self, guint32 parent, const char *name)
{
  guint32 id = GPOINTER_TO_UINT (g_hash_table_lookup (self->programs, name));
  LuCallNode node = { .parent = parent, .name = name, .module = "", .is_program = TRUE };

  if (id == 0)
    {
      id = self->n_functions + g_hash_table_size (self->programs) + 1;
      g_hash_table_insert (self->programs, (gpointer) name, GUINT_TO_POINTER (id));
    }
  node.name_id = id - 1;
  return get_child (self, parent, &node);
}

/* Returns the node below which the stacks of a thread are. */
static guint32
get_top (Builder *self, guint32 thread)
{
  guint32 program = get_program (self, 0, lu_model_process_of (self->model, thread)->name);

  return self->model->flags & LU_MODEL_THREADS
             ? get_program (self, program, lu_model_thread (self->model, thread)->name)
             : program;
}

static Known
add_function (Builder *self, Known parent, guint32 model_node)
{
  const LuModelFrame *frame =
      lu_model_frame (self->model, lu_model_node (self->model, model_node).frame);
  const LuModelFunction *function = lu_model_function_of (self->model, model_node);
  const LuCallNode *caller = lu_call_tree_node (self->tree, parent.node);
  gboolean folds = (self->model->flags & LU_MODEL_FOLD_RECURSION) && !caller->is_program
                   && caller->name_id == frame->function;
  LuCallNode node = { .parent = parent.node,
                      .name = function->name,
                      .module = function->module,
                      .function = function,
                      .kind = function->kind,
                      .name_id = frame->function };
  Known added = { parent.node, parent.n_calls + 1 };
  LuCallNode *folded = NULL;

  if (!folds)
    return (Known){ get_child (self, parent.node, &node), 1 };
  folded = &g_array_index (self->tree->nodes, LuCallNode, added.node);
  folded->n_folded = MAX (folded->n_folded, added.n_calls);
  return added;
}

/* Returns the node for a stack of the model below a program. */
static guint32
find_node (Builder *self, guint32 program, guint32 model_node, GArray *path)
{
  Known node = { program, 1 };
  guint32 at = model_node, id;

  g_array_set_size (path, 0);
  for (; at != 0; at = lu_model_node (self->model, at).parent)
    {
      id = lu_id_table_find (self->known, (guint64) program << 32 | at, 0);
      if (id != G_MAXUINT32)
        {
          node = g_array_index (self->nodes_known, Known, id);
          break;
        }
      g_array_append_val (path, at);
    }
  for (guint i = path->len; i > 0; i--)
    {
      at = g_array_index (path, guint32, i - 1);
      node = add_function (self, node, at);
      lu_id_table_add (self->known, (guint64) program << 32 | at, 0);
      g_array_append_val (self->nodes_known, node);
    }
  return node.node;
}

static void
add_up (LuCallTree *tree)
{
  for (guint32 i = tree->nodes->len; i > 0; i--)
    {
      LuCallNode *node = &g_array_index (tree->nodes, LuCallNode, i - 1);

      node->total += node->self;
      if (i > 1)
        g_array_index (tree->nodes, LuCallNode, node->parent).total += node->total;
    }
}

LuCallTree *
lu_call_tree_new (const LuModel *model, guint32 event)
{
  LuCallTree *tree = g_new0 (LuCallTree, 1);
  Builder self = { .model = model, .tree = tree, .n_functions = model->functions->len };
  LuCallNode root = { .name = "all", .module = "", .name_id = G_MAXUINT32 };
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));

  tree->nodes = g_array_new (FALSE, FALSE, sizeof (LuCallNode));
  g_array_append_val (tree->nodes, root);
  self.children = lu_id_table_new (1);
  self.known = lu_id_table_new (1);
  self.nodes_known = g_array_new (FALSE, FALSE, sizeof (Known));
  self.programs = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);
      guint32 node;

      if (event != LU_CALL_TREE_ALL_EVENTS && count.event != event)
        continue;
      node = find_node (&self, get_top (&self, count.thread), count.node, path);
      g_array_index (tree->nodes, LuCallNode, node).self += count.n;
    }
  tree->n_names = self.n_functions + g_hash_table_size (self.programs);
  add_up (tree);
  lu_id_table_free (self.children);
  lu_id_table_free (self.known);
  g_array_unref (self.nodes_known);
  g_hash_table_unref (self.programs);
  return tree;
}

void
lu_call_tree_free (LuCallTree *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->nodes);
  g_free (self);
}

char *
lu_call_node_text (const LuCallNode *node)
{
  return node->function != NULL ? lu_model_function_text (node->function) : g_strdup (node->name);
}

char *
lu_call_node_add_folded (const LuCallNode *node, char *text)
{
  char *result = node->n_folded > 1 ? g_strdup_printf ("%s ×%u", text, node->n_folded) : NULL;

  if (result == NULL)
    return text;
  g_free (text);
  return result;
}
