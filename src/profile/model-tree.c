/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-tree.c - puts further frames into the tree of a model whose frames are all taken; see
 * model-private.h. */

#include "model-private.h"

#define MAX_NODES (4u << 20)

/* Adds a chain of nodes below `node` and returns the last one. */
static guint32
add_run (LuIdTable *nodes, guint32 node, const LuModelRuns *runs, guint32 number)
{
  LuModelRun run = runs != NULL ? runs->runs[number] : (LuModelRun){ 0 };

  for (guint32 i = 0; i < run.n && lu_id_table_size (nodes) < MAX_NODES; i++)
    {
      guint32 frame = runs->frames != NULL ? runs->frames[run.first + i] : run.first + i;

      node = lu_id_table_add (nodes, (guint64) node << 32 | frame, 0) + 1;
    }
  return node;
}

/* Moves counters and samples to their new nodes. */
static void
move_counts (LuModel *model, const guint32 *new_of)
{
  LuIdTable *counted = lu_id_table_new_sized (1, lu_model_n_counts (model));

  for (guint32 i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      count.node = new_of[count.node];
      lu_id_table_add (counted, lu_model_count_key (&count), 0);
    }
  for (guint i = 0; i < model->samples->len; i++)
    {
      LuModelSample *sample = &g_array_index (model->samples, LuModelSample, i);

      sample->node = new_of[sample->node];
    }
  lu_id_table_free (model->counted);
  model->counted = counted;
}

void
lu_model_expand (LuModel *model, const LuModelRuns *before, const LuModelRuns *after)
{
  guint32 n = lu_id_table_size (model->nodes);
  LuIdTable *nodes = lu_id_table_new_sized (1, n);
  g_autofree guint32 *new_of = g_new0 (guint32, n + (gsize) 1);

  /* Each old node becomes one chain of new nodes, so the counters stay separate and keep their
   * order. */
  for (guint32 i = 1; i <= n; i++)
    {
      LuModelNode old = lu_model_node (model, i);
      guint32 node = add_run (nodes, new_of[old.parent], before, i);

      node = lu_id_table_add (nodes, (guint64) node << 32 | old.frame, 0) + 1;
      new_of[i] = add_run (nodes, node, after, old.frame);
    }
  move_counts (model, new_of);
  lu_id_table_free (model->nodes);
  model->nodes = nodes;
}
