/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-tree.h - a model added up by chains of functions, below the programs they ran in.
 *
 * Where the model tells addresses apart, this tells functions apart. Nodes are numbered so that a
 * caller is in front of its callees; node 0 is everything. Immutable once made. */

#pragma once

#include "output/model.h"

typedef struct
{
  guint32 parent;
  const char *name, *module;       /* of the function, or the program; borrowed from the model */
  const LuModelFunction *function; /* NULL: a program, or everything; likewise */
  LuCodeKind kind;
  gboolean is_program; /* a child of node 0 */
  guint32 name_id;     /* equal for equal names, modules and kinds */
  guint64 self, total; /* samples */
} LuCallNode;

typedef struct
{
  GArray *nodes; /* of LuCallNode */
  guint32 n_names;
} LuCallTree;

/* Which samples to take; NULL: all. */
typedef gboolean (*LuCallTreeFilter) (const LuModel *model, guint32 thread, guint32 node,
                                      gpointer user_data);

/* After lu_model_name(). The model has to outlive the tree. */
LuCallTree *lu_call_tree_new (const LuModel *model, LuCallTreeFilter filter, gpointer user_data);
void lu_call_tree_free (LuCallTree *self);

/* How the node is shown (lu_model_function_text()), owned by the caller. */
char *lu_call_node_text (const LuCallNode *node);

static inline const LuCallNode *
lu_call_tree_node (const LuCallTree *self, guint32 node)
{
  return &g_array_index (self->nodes, LuCallNode, node);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCallTree, lu_call_tree_free)
