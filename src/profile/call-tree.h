/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-tree.h - a model added up by chains of functions, below the programs in which they ran.
 *
 * The model tells addresses apart; the call tree only tells functions apart. Nodes are numbered so
 * that a caller comes before its callees; node 0 is everything. Immutable once made. */

#pragma once

#include "model.h"

typedef struct
{
  guint32 parent;
  const char *name, *module;       /* of the function or program; borrowed from the model */
  const LuModelFunction *function; /* borrowed, too; NULL: a program, or everything */
  LuCodeKind kind;
  gboolean is_program; /* a child of node 0; with LU_MODEL_THREADS also its children */
  guint32 name_id;     /* the same for equal names, modules and kinds */
  guint32 n_folded;    /* with LU_MODEL_FOLD_RECURSION: the most calls in one; otherwise 0 */
  guint64 self, total; /* samples */
} LuCallNode;

typedef struct
{
  GArray *nodes; /* of LuCallNode */
  guint32 n_names;
} LuCallTree;

#define LU_CALL_TREE_ALL_EVENTS G_MAXUINT32

/* Makes the tree of the samples of one event, or of all, after lu_model_name(). The model has to
 * outlive it. */
LuCallTree *lu_call_tree_new (const LuModel *model, guint32 event);
void lu_call_tree_free (LuCallTree *self);

/* Returns the text to display for a node, owned by the caller; see lu_model_function_text(). */
char *lu_call_node_text (const LuCallNode *node);

/* Returns the text with the number of folded calls; takes it. */
char *lu_call_node_add_folded (const LuCallNode *node, char *text);

static inline const LuCallNode *
lu_call_tree_node (const LuCallTree *self, guint32 node)
{
  return &g_array_index (self->nodes, LuCallNode, node);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCallTree, lu_call_tree_free)
