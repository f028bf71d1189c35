/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-folded.c - folded stacks: a line per stack, "program;root;…;leaf COUNT".
 *
 * Read by flame graph scripts, speedscope, the Firefox Profiler, Perfetto and others. COUNT is in
 * samples (the Firefox Profiler repeats the sample so many times). The kernel's functions end in
 * _[k], generated code in _[j], inlined functions in _[i], as flamegraph.pl colours them. */

#include "output/call-tree.h"
#include "output/format.h"

#include <string.h>

/* The suffix says what is inlined. */
static char *
name_of (const LuCallNode *node)
{
  LuModelFunction plain;

  if (node->function == NULL)
    return g_strdup (node->name);
  plain = *node->function;
  plain.is_inlined = FALSE;
  return lu_model_function_text (&plain);
}

static void
append_name (GString *line, const LuCallNode *node)
{
  g_autofree char *name = name_of (node);

  /* what separates frames and lines */
  g_strdelimit (name, ";", ':');
  for (char *at = name; *at != 0; at++)
    if ((guchar) *at < 0x20)
      *at = ' ';
  g_strstrip (name);
  g_string_append (line, name[0] != 0 ? name : "?");
  if (node->is_program)
    return;
  if (strcmp (node->name, "(no symbol)") == 0)
    g_string_append_printf (line, " [%s]", node->module);
  if (node->kind == LU_CODE_KERNEL)
    g_string_append (line, "_[k]");
  else if (node->kind == LU_CODE_GENERATED)
    g_string_append (line, "_[j]");
  else if (node->function->is_inlined)
    g_string_append (line, "_[i]");
}

static void
write_node (const LuCallTree *tree, guint32 number, LuStream *stream, GArray *path, GString *line)
{
  const LuCallNode *node = lu_call_tree_node (tree, number);
  guint64 count = node->self;

  if (count == 0 || number == 0)
    return;
  g_array_set_size (path, 0);
  for (; number != 0; number = node->parent)
    {
      node = lu_call_tree_node (tree, number);
      g_array_append_val (path, number);
    }
  g_string_set_size (line, 0);
  for (guint i = path->len; i > 0; i--)
    {
      append_name (line, lu_call_tree_node (tree, g_array_index (path, guint32, i - 1)));
      g_string_append_c (line, i > 1 ? ';' : ' ');
    }
  lu_stream_text (stream, line->str);
  lu_stream_printf (stream, "%" G_GUINT64_FORMAT "\n", count);
}

static void
write_folded (const LuModel *model, LuStream *stream)
{
  g_autoptr (LuCallTree) tree = lu_call_tree_new (model, NULL, NULL);
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint32 i = 1; i < tree->nodes->len; i++)
    write_node (tree, i, stream, path, line);
}

const LuFormat lu_format_folded = {
  .name = "folded",
  .suffixes = { ".folded", ".collapsed" },
  .shows_only_functions = TRUE,
  .write = write_folded,
};
