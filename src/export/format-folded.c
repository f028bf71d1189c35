/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-folded.c - folded stacks: a line per stack, "program;root;…;leaf COUNT".
 *
 * Read by flame graph scripts, speedscope, the Firefox Profiler, Perfetto and more. COUNT is a
 * number of samples (the Firefox Profiler repeats the sample that often). If there are several
 * events, the root of a stack is the name of its event. Kernel functions end in _[k], generated
 * code in _[j] and inlined functions in _[i]; flamegraph.pl colours them by these suffixes. */

#include "profile/call-tree.h"
#include "format.h"

#include <string.h>

/* Returns a name without "(inlined)", because a suffix says so. Owned by the caller. */
static char *
name_of (const LuCallNode *node)
{
  LuModelFunction plain;

  if (node->function == NULL)
    return g_strdup (node->name);
  plain = *node->function;
  plain.is_inlined = FALSE;
  return lu_call_node_add_folded (node, lu_model_function_text (&plain));
}

/* Appends a name without the characters that separate frames and lines. */
static void
append_clean (GString *line, const char *text)
{
  g_autofree char *name = g_utf8_make_valid (text, -1);

  g_strdelimit (name, ";", ':');
  for (char *at = name; *at != 0; at = g_utf8_next_char (at))
    if (g_unichar_iscntrl (g_utf8_get_char (at)))
      memset (at, ' ', (gsize) (g_utf8_next_char (at) - at));
  g_strstrip (name);
  g_string_append (line, name[0] != 0 ? name : "?");
}

static void
append_name (GString *line, const LuCallNode *node)
{
  g_autofree char *name = name_of (node);

  append_clean (line, name);
  if (node->is_program)
    return;
  if (node->kind == LU_CODE_KERNEL)
    g_string_append (line, "_[k]");
  else if (node->kind == LU_CODE_GENERATED)
    g_string_append (line, "_[j]");
  else if (node->function->is_inlined)
    g_string_append (line, "_[i]");
}

/* Appends the names from the program to the node; path: scratch memory, of guint32. */
static void
append_path (GString *line, const LuCallTree *tree, guint32 number, GArray *path)
{
  g_array_set_size (path, 0);
  for (; number != 0; number = lu_call_tree_node (tree, number)->parent)
    g_array_append_val (path, number);
  for (guint i = path->len; i > 0; i--)
    {
      append_name (line, lu_call_tree_node (tree, g_array_index (path, guint32, i - 1)));
      g_string_append_c (line, i > 1 ? ';' : ' ');
    }
}

static void
write_event (const LuModel *model, guint32 event, LuStream *stream)
{
  g_autoptr (LuCallTree) tree = lu_call_tree_new (model, event);
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint32 i = 1; i < tree->nodes->len; i++)
    {
      guint64 count = lu_call_tree_node (tree, i)->self;

      if (count == 0)
        continue;
      g_string_set_size (line, 0);
      if (lu_model_n_events (model) > 1)
        {
          append_clean (line, lu_model_event (model, event)->name);
          g_string_append_c (line, ';');
        }
      append_path (line, tree, i, path);
      lu_stream_text (stream, line->str);
      lu_stream_printf (stream, "%" G_GUINT64_FORMAT "\n", count);
    }
}

static void
write_folded (const LuModel *model, LuStream *stream)
{
  for (guint32 i = 0; i < lu_model_n_events (model); i++)
    write_event (model, i, stream);
}

const LuFormat lu_format_folded = {
  .name = "folded",
  .suffixes = { ".folded", ".collapsed" },
  .shows_only_functions = TRUE,
  .write = write_folded,
};
