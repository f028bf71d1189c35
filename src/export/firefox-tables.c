/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* firefox-tables.c - samples, stacks, frames and functions of a thread; see firefox-tables.h.
 *
 * A thread has its own numbers for what it uses of the model, in the order of first use. */

#include "firefox-tables.h"

#include <string.h>

/* A line of a function at a depth of inlining. */
typedef struct
{
  guint32 function, line, depth;
} Site;

/* Maps numbers in the model to numbers in a thread. */
typedef struct
{
  GArray *list;    /* of guint32: numbers in the model */
  guint32 *number; /* number in the model -> number in the thread + 1 */
} Numbers;

struct _LuFirefoxTables
{
  const LuModel *model;
  LuStream *stream;
  LuIdTable *site_ids;  /* (function and line, depth) */
  guint32 *site_of;     /* frame of the model -> site */
  GHashTable *text_ids; /* text -> number in `texts` + 1; texts are borrowed from the model */
  GPtrArray *texts;     /* borrowed */
  guint32 *name_of, *module_of,
      *file_of; /* function -> number of its text; file_of: number + 1, 0: none */
  /* of this thread */
  Numbers stacks, frames, functions, strings, resources; /* nodes, sites, functions, texts, texts */
  const GArray *samples;                                 /* of guint32 */
};

typedef LuFirefoxTables Tables;
typedef void (*WriteCell) (const Tables *self, guint32 row);

/* Numbers */

static void
numbers_init (Numbers *self, guint32 n)
{
  self->list = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->number = g_new0 (guint32, n + (gsize) 1);
}

static guint32
numbers_get (Numbers *self, guint32 whole)
{
  if (self->number[whole] == 0)
    {
      g_array_append_val (self->list, whole);
      self->number[whole] = self->list->len;
    }
  return self->number[whole] - 1;
}

static guint32
numbers_at (const Numbers *self, guint32 row)
{
  return g_array_index (self->list, guint32, row);
}

/* Prepares the numbers for the next thread. */
static void
numbers_forget (Numbers *self)
{
  for (guint i = 0; i < self->list->len; i++)
    self->number[numbers_at (self, i)] = 0;
  g_array_set_size (self->list, 0);
}

static void
numbers_clear (Numbers *self)
{
  g_array_unref (self->list);
  g_free (self->number);
}

/* All threads */

static guint32
text_id (Tables *self, const char *text)
{
  guint32 id = GPOINTER_TO_UINT (g_hash_table_lookup (self->text_ids, text));

  if (id > 0)
    return id - 1;
  g_ptr_array_add (self->texts, (gpointer) text);
  g_hash_table_insert (self->text_ids, (gpointer) text, GUINT_TO_POINTER (self->texts->len));
  return self->texts->len - 1;
}

static void
find_texts (Tables *self)
{
  guint n = self->model->functions->len;

  self->text_ids = g_hash_table_new (g_str_hash, g_str_equal);
  self->texts = g_ptr_array_new ();
  self->name_of = g_new0 (guint32, n + 1);
  self->module_of = g_new0 (guint32, n + 1);
  self->file_of = g_new0 (guint32, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const LuModelFunction *function = &g_array_index (self->model->functions, LuModelFunction, i);

      self->name_of[i] = text_id (self, function->name);
      self->module_of[i] = text_id (self, function->module);
      if (function->defined_in != NULL)
        self->file_of[i] = text_id (self, function->defined_in) + 1;
    }
}

static void
find_sites (Tables *self)
{
  const LuModel *model = self->model;
  guint32 depth = 0;

  self->site_ids = lu_id_table_new (2);
  self->site_of = g_new0 (guint32, model->frames->len + (gsize) 1);
  for (guint32 i = 0; i < model->frames->len; i++)
    {
      const LuModelFrame *frame = lu_model_frame (model, i);

      /* functions inlined at a frame are consecutive, outermost first */
      if (!frame->is_inlined)
        depth = 0;
      else
        depth = depth > 0 && lu_model_frame (model, i - 1)->outer == frame->outer ? depth + 1 : 1;
      self->site_of[i] =
          lu_id_table_add (self->site_ids, (guint64) frame->function << 32 | frame->line, depth);
    }
}

static Site
site_at (const Tables *self, guint32 row)
{
  const guint64 *key = lu_id_table_key (self->site_ids, numbers_at (&self->frames, row));

  return (Site){ (guint32) (key[0] >> 32), (guint32) key[0], (guint32) key[1] };
}

static const LuModelFunction *
function_at (const Tables *self, guint32 row)
{
  return &g_array_index (self->model->functions, LuModelFunction,
                         numbers_at (&self->functions, row));
}

/* Columns */

static void
write_column (const Tables *self, const char *name, guint32 n, WriteCell cell)
{
  lu_stream_printf (self->stream, ",\"%s\":[", name);
  for (guint32 i = 0; i < n; i++)
    {
      if (i > 0)
        lu_stream_text (self->stream, ",");
      cell (self, i);
    }
  lu_stream_text (self->stream, "]");
}

/* Writes a column that has the same text in every row. */
static void
write_constant (const Tables *self, const char *name, guint32 n, const char *text)
{
  lu_stream_printf (self->stream, ",\"%s\":[", name);
  for (guint32 i = 0; i < n; i++)
    lu_stream_printf (self->stream, "%s%s", i > 0 ? "," : "", text);
  lu_stream_text (self->stream, "]");
}

static void
write_number (const Tables *self, guint32 number)
{
  lu_stream_printf (self->stream, "%u", number);
}

static void
write_number_or_null (const Tables *self, guint32 number, gboolean is_number)
{
  if (is_number)
    write_number (self, number);
  else
    lu_stream_text (self->stream, "null");
}

/* Samples */

static const LuModelSample *
sample_at (const Tables *self, guint32 row)
{
  return &g_array_index (self->model->samples, LuModelSample,
                         g_array_index (self->samples, guint32, row));
}

static void
write_sample_stack (const Tables *self, guint32 row)
{
  guint32 node = sample_at (self, row)->node;

  write_number_or_null (self, node > 0 ? self->stacks.number[node] - 1 : 0, node > 0);
}

static void
write_sample_time (const Tables *self, guint32 row)
{
  lu_firefox_write_time (self->model, self->stream, sample_at (self, row)->time);
}

static void
write_samples (const Tables *self)
{
  guint32 n = self->samples->len;

  lu_stream_printf (self->stream, "\"samples\":{\"length\":%u,\"weightType\":\"samples\"", n);
  lu_stream_text (self->stream, ",\"weight\":null");
  write_column (self, "stack", n, write_sample_stack);
  write_column (self, "time", n, write_sample_time);
  lu_stream_text (self->stream, "},\n");
}

/* Stacks */

static void
write_stack_prefix (const Tables *self, guint32 row)
{
  guint32 parent = lu_model_node (self->model, numbers_at (&self->stacks, row)).parent;

  write_number_or_null (self, parent > 0 ? self->stacks.number[parent] - 1 : 0, parent > 0);
}

static guint32
site_of_stack (const Tables *self, guint32 row)
{
  return self->site_of[lu_model_node (self->model, numbers_at (&self->stacks, row)).frame];
}

static void
write_stack_frame (const Tables *self, guint32 row)
{
  write_number (self, self->frames.number[site_of_stack (self, row)] - 1);
}

static LuCodeKind
kind_of_site (const Tables *self, guint32 site)
{
  guint32 function = (guint32) (lu_id_table_key (self->site_ids, site)[0] >> 32);

  return g_array_index (self->model->functions, LuModelFunction, function).kind;
}

static void
write_stack_category (const Tables *self, guint32 row)
{
  write_number (self, kind_of_site (self, site_of_stack (self, row)));
}

static void
write_stacks (const Tables *self)
{
  guint32 n = self->stacks.list->len;

  lu_stream_printf (self->stream, "\"stackTable\":{\"length\":%u", n);
  write_column (self, "prefix", n, write_stack_prefix);
  write_column (self, "frame", n, write_stack_frame);
  write_column (self, "category", n, write_stack_category);
  write_constant (self, "subcategory", n, "0");
  lu_stream_text (self->stream, "},\n");
}

/* Frames */

static void
write_frame_depth (const Tables *self, guint32 row)
{
  write_number (self, site_at (self, row).depth);
}

static void
write_frame_category (const Tables *self, guint32 row)
{
  write_number (self, kind_of_site (self, numbers_at (&self->frames, row)));
}

static void
write_frame_function (const Tables *self, guint32 row)
{
  write_number (self, self->functions.number[site_at (self, row).function] - 1);
}

static void
write_frame_line (const Tables *self, guint32 row)
{
  guint32 line = site_at (self, row).line;

  write_number_or_null (self, line, line > 0);
}

static void
write_frames (const Tables *self)
{
  guint32 n = self->frames.list->len;

  lu_stream_printf (self->stream, "\"frameTable\":{\"length\":%u", n);
  write_constant (self, "address", n, "-1");
  write_column (self, "inlineDepth", n, write_frame_depth);
  write_column (self, "category", n, write_frame_category);
  write_constant (self, "subcategory", n, "0");
  write_column (self, "func", n, write_frame_function);
  write_constant (self, "nativeSymbol", n, "null");
  write_constant (self, "innerWindowID", n, "null");
  write_constant (self, "implementation", n, "null");
  write_column (self, "line", n, write_frame_line);
  write_constant (self, "column", n, "null");
  lu_stream_text (self->stream, "},\n");
}

/* Functions */

static void
write_function_name (const Tables *self, guint32 row)
{
  write_number (self, self->strings.number[self->name_of[numbers_at (&self->functions, row)]] - 1);
}

static void
write_function_resource (const Tables *self, guint32 row)
{
  guint32 module = self->module_of[numbers_at (&self->functions, row)];

  if (self->resources.number[module] > 0)
    write_number (self, self->resources.number[module] - 1);
  else
    lu_stream_text (self->stream, "-1");
}

static void
write_function_file (const Tables *self, guint32 row)
{
  guint32 file = self->file_of[numbers_at (&self->functions, row)];

  write_number_or_null (self, file > 0 ? self->strings.number[file - 1] - 1 : 0, file > 0);
}

static void
write_function_line (const Tables *self, guint32 row)
{
  guint32 line = function_at (self, row)->defined_at;

  write_number_or_null (self, line, line > 0);
}

static void
write_resource_name (const Tables *self, guint32 row)
{
  write_number (self, self->strings.number[numbers_at (&self->resources, row)] - 1);
}

static void
write_functions (const Tables *self)
{
  guint32 n = self->functions.list->len, n_resources = self->resources.list->len;

  lu_stream_printf (self->stream, "\"funcTable\":{\"length\":%u", n);
  write_column (self, "name", n, write_function_name);
  write_constant (self, "isJS", n, "false");
  write_constant (self, "relevantForJS", n, "false");
  write_column (self, "resource", n, write_function_resource);
  write_column (self, "fileName", n, write_function_file);
  write_column (self, "lineNumber", n, write_function_line);
  write_constant (self, "columnNumber", n, "null");
  lu_stream_printf (self->stream, "},\n\"resourceTable\":{\"length\":%u", n_resources);
  write_constant (self, "lib", n_resources, "null");
  write_column (self, "name", n_resources, write_resource_name);
  write_constant (self, "host", n_resources, "null");
  write_constant (self, "type", n_resources, "1"); /* a library */
  lu_stream_text (self->stream,
                  "},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
                  "\"name\":[],\"functionSize\":[]}");
}

static void
write_string (const Tables *self, guint32 row)
{
  lu_stream_json (self->stream, g_ptr_array_index (self->texts, numbers_at (&self->strings, row)));
}

static void
use_function (Tables *self, guint32 function)
{
  guint32 module = self->module_of[function];

  numbers_get (&self->functions, function);
  numbers_get (&self->strings, self->name_of[function]);
  if (self->file_of[function] > 0)
    numbers_get (&self->strings, self->file_of[function] - 1);
  if (((const char *) g_ptr_array_index (self->texts, module))[0] == 0)
    return;
  numbers_get (&self->strings, module);
  numbers_get (&self->resources, module);
}

/* Numbers a stack after everything that it refers to. */
static void
use_stack (Tables *self, guint32 node, GArray *path)
{
  lu_model_path (self->model, node, path);
  for (guint i = 0; i < path->len; i++)
    {
      guint32 frame = lu_model_node (self->model, g_array_index (path, guint32, i)).frame;

      if (self->stacks.number[g_array_index (path, guint32, i)] > 0)
        continue;
      numbers_get (&self->stacks, g_array_index (path, guint32, i));
      numbers_get (&self->frames, self->site_of[frame]);
      use_function (self, lu_model_frame (self->model, frame)->function);
    }
}

void
lu_firefox_tables_write (LuFirefoxTables *self, const GArray *samples)
{
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (guint32));

  self->samples = samples;
  for (guint i = 0; i < samples->len; i++)
    if (self->stacks.number[sample_at (self, i)->node] == 0)
      use_stack (self, sample_at (self, i)->node, path);
  write_samples (self);
  write_stacks (self);
  write_frames (self);
  write_functions (self);
  write_column (self, "stringArray", self->strings.list->len, write_string);
  numbers_forget (&self->stacks);
  numbers_forget (&self->frames);
  numbers_forget (&self->functions);
  numbers_forget (&self->strings);
  numbers_forget (&self->resources);
}

LuFirefoxTables *
lu_firefox_tables_new (const LuModel *model, LuStream *stream)
{
  LuFirefoxTables *self = g_new0 (LuFirefoxTables, 1);

  self->model = model;
  self->stream = stream;
  find_texts (self);
  find_sites (self);
  numbers_init (&self->stacks, lu_id_table_size (self->model->nodes));
  numbers_init (&self->frames, lu_id_table_size (self->site_ids));
  numbers_init (&self->functions, self->model->functions->len);
  numbers_init (&self->strings, self->texts->len);
  numbers_init (&self->resources, self->texts->len);
  return self;
}

void
lu_firefox_tables_free (LuFirefoxTables *self)
{
  numbers_clear (&self->stacks);
  numbers_clear (&self->frames);
  numbers_clear (&self->functions);
  numbers_clear (&self->strings);
  numbers_clear (&self->resources);
  lu_id_table_free (self->site_ids);
  g_free (self->site_of);
  g_hash_table_unref (self->text_ids);
  g_ptr_array_unref (self->texts);
  g_free (self->name_of);
  g_free (self->module_of);
  g_free (self->file_of);
  g_free (self);
}
