/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-html.c - a flame graph in one file that any browser shows without a network.
 *
 * The page, flame-graph.html, is compiled into the program. This format fills in the call tree, as
 * arrays by node and by name. Samples of all events are counted together. */

#include "profile/call-tree.h"
#include "flame-graph-page.h"
#include "format.h"

#include <string.h>

#define PLACE "@DATA@"
/* The kind of a program's node in the page. */
#define KIND_PROGRAM 5

/* Numbers the names in the order of the tree. first_nodes receives the first node of each. */
static guint32 *
number_names (const LuCallTree *tree, GArray *first_nodes)
{
  guint32 *numbers = g_new0 (guint32, tree->n_names + 1);

  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      guint32 *number = &numbers[lu_call_tree_node (tree, i)->name_id];

      if (*number != 0)
        continue;
      g_array_append_val (first_nodes, i);
      *number = first_nodes->len;
    }
  return numbers;
}

/* Writes 0 if it is the name that is shown. */
static void
write_full_name (const LuCallNode *node, LuStream *stream)
{
  lu_stream_text (stream, ",");
  if (node->function == NULL || g_str_equal (node->function->full_name, node->name))
    lu_stream_text (stream, "0");
  else
    lu_stream_json (stream, node->function->full_name);
}

static void
write_names (const LuCallTree *tree, LuStream *stream, const GArray *first_nodes)
{
  lu_stream_text (stream, "\"names\":[\"all\"");
  for (guint i = 0; i < first_nodes->len; i++)
    {
      g_autofree char *text =
          lu_call_node_text (lu_call_tree_node (tree, g_array_index (first_nodes, guint32, i)));

      lu_stream_text (stream, ",");
      lu_stream_json (stream, text);
    }
  lu_stream_text (stream, "],\n\"full_names\":[0");
  for (guint i = 0; i < first_nodes->len; i++)
    write_full_name (lu_call_tree_node (tree, g_array_index (first_nodes, guint32, i)), stream);
  lu_stream_text (stream, "],\n\"modules\":[\"\"");
  for (guint i = 0; i < first_nodes->len; i++)
    {
      lu_stream_text (stream, ",");
      lu_stream_json (stream,
                      lu_call_tree_node (tree, g_array_index (first_nodes, guint32, i))->module);
    }
  lu_stream_text (stream, "],\n");
}

static void
write_tree (const LuCallTree *tree, LuStream *stream, const guint32 *numbers)
{
  lu_stream_text (stream, "\"parents\":[-1");
  for (guint32 i = 1; i < tree->nodes->len; i++)
    lu_stream_printf (stream, ",%u", lu_call_tree_node (tree, i)->parent);
  lu_stream_text (stream, "],\n\"name_of\":[0");
  for (guint32 i = 1; i < tree->nodes->len; i++)
    lu_stream_printf (stream, ",%u", numbers[lu_call_tree_node (tree, i)->name_id]);
  lu_stream_printf (stream, "],\n\"kinds\":[%d", KIND_PROGRAM);
  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      const LuCallNode *node = lu_call_tree_node (tree, i);

      lu_stream_printf (stream, ",%d", node->is_program ? KIND_PROGRAM : (int) node->kind);
    }
  lu_stream_text (stream, "],\n\"selves\":[0");
  for (guint32 i = 1; i < tree->nodes->len; i++)
    lu_stream_printf (stream, ",%" G_GUINT64_FORMAT, lu_call_tree_node (tree, i)->self);
  lu_stream_text (stream, "]");
}

static void
write_html (const LuModel *model, LuStream *stream)
{
  g_autoptr (LuCallTree) tree = lu_call_tree_new (model, LU_CALL_TREE_ALL_EVENTS);
  g_autoptr (GArray) first_nodes = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree guint32 *numbers = number_names (tree, first_nodes);
  const char *page = (const char *) lu_flame_graph_page;
  const char *place = strstr (page, "= " PLACE) + 2;
  g_autofree char *title =
      g_strdup_printf ("%" G_GUINT64_FORMAT " samples in %.1f s", model->n_samples,
                       (double) (model->last - model->begin) / 1e9);

  lu_stream_write (stream, page, (gsize) (place - page));
  lu_stream_text (stream, "{\"title\":");
  lu_stream_json (stream, title);
  lu_stream_text (stream, ",\n");
  write_names (tree, stream, first_nodes);
  write_tree (tree, stream, numbers);
  lu_stream_text (stream, "}");
  lu_stream_text (stream, place + strlen (PLACE));
}

const LuFormat lu_format_html = {
  .name = "html",
  .suffixes = { ".html", ".htm" },
  .shows_only_functions = TRUE,
  .write = write_html,
};
