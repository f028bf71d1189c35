/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* page.c - fills the data of a recording into the page; see page.h.
 *
 * The page is made of src/export/page/ and compiled into the program. Its data are one JSON object:
 * texts are arrays, and tables are columns of numbers, as varints (7 bits a byte, low bits first)
 * in base64:
 *   nodes      of the tree of stacks, a caller before its callees, numbered from 1: how far back
 *              the parent is (0: it is a root), function
 *   samples    in the order of time: microseconds since the one before (or since the first sample
 *              of the recording), thread, node
 *   events_of  event of each sample, if there are several
 *   weights    of each sample, if those of an event differ
 *   rest       samples whose time was not kept: thread, node, event, how many
 *   places     of functions, if any is known: number of a file (0: none), line
 *   lines      of nodes, if any is known; 0: not known. Nodes differ by their lines, too
 * src/export/page/data.mjs reads them. */

#include "page.h"

#include "base/json.h"
#include "page-template.h"

#include <string.h>

#define PLACE "@DATA@"

typedef struct
{
  const LuModel *model;
  LuStream *stream;
  GArray *functions;    /* of guint32: the model's number of each function of the page */
  guint32 *function_of; /* by the model's number: that of the page + 1; 0: none yet */
  LuIdTable *nodes;     /* parent and function, line -> node - 1 */
  guint32 *node_of;     /* by node of the model; 0: not used */
} Page;

/* Tables */

static void
add_number (GByteArray *column, guint64 value)
{
  guint8 bytes[10];
  guint n = 0;

  for (; value >= 0x80; value >>= 7)
    bytes[n++] = (guint8) (value | 0x80);
  bytes[n++] = (guint8) value;
  g_byte_array_append (column, bytes, n);
}

/* Writes a member; takes the column. */
static void
write_column (Page *self, const char *key, GByteArray *column)
{
  g_autofree char *text = g_base64_encode (column->data, column->len);

  lu_stream_printf (self->stream, ",\n\"%s\":\"", key);
  lu_stream_text (self->stream, text);
  lu_stream_text (self->stream, "\"");
  g_byte_array_unref (column);
}

static void
write_text (Page *self, const char *key, const char *text)
{
  if (text == NULL)
    return;
  lu_stream_printf (self->stream, ",\n\"%s\":", key);
  lu_stream_json (self->stream, text);
}

static const LuModelFunction *
function_at (const Page *self, guint index)
{
  return &g_array_index (self->model->functions, LuModelFunction,
                         g_array_index (self->functions, guint32, index));
}

/* The tree */

static void
mark_used (Page *self)
{
  for (guint i = 0; i < lu_model_n_counts (self->model); i++)
    for (guint32 node = lu_model_count (self->model, i).node; node != 0 && self->node_of[node] == 0;
         node = lu_model_node (self->model, node).parent)
      self->node_of[node] = 1;
}

static guint32
get_function (Page *self, guint32 number)
{
  if (self->function_of[number] == 0)
    {
      g_array_append_val (self->functions, number);
      self->function_of[number] = self->functions->len;
    }
  return self->function_of[number] - 1;
}

/* Numbers functions and nodes. Nodes of the model with the same chain of functions are one. */
static void
make_tree (Page *self)
{
  mark_used (self);
  for (guint32 i = 1; i <= lu_id_table_size (self->model->nodes); i++)
    {
      LuModelNode node = lu_model_node (self->model, i);
      const LuModelFrame *frame = lu_model_frame (self->model, node.frame);
      guint32 function;

      if (self->node_of[i] == 0)
        continue;
      function = get_function (self, frame->function);
      self->node_of[i] =
          lu_id_table_add (self->nodes, (guint64) self->node_of[node.parent] << 32 | function,
                           frame->line)
          + 1;
    }
}

static void
write_nodes (Page *self)
{
  GByteArray *column = g_byte_array_new ();

  for (guint32 i = 0; i < lu_id_table_size (self->nodes); i++)
    {
      guint64 key = *lu_id_table_key (self->nodes, i);
      guint32 parent = (guint32) (key >> 32);

      add_number (column, parent == 0 ? 0 : i + 1 - parent);
      add_number (column, (guint32) key);
    }
  write_column (self, "nodes", column);
}

static void
write_lines (Page *self)
{
  GByteArray *column = g_byte_array_new ();
  gboolean any = FALSE;

  for (guint32 i = 0; i < lu_id_table_size (self->nodes); i++)
    {
      guint64 line = lu_id_table_key (self->nodes, i)[1];

      any |= line > 0;
      add_number (column, line);
    }
  if (any)
    write_column (self, "lines", column);
  else
    g_byte_array_unref (column);
}

/* Functions */

/* Writes the number of each text in the order in which they are first seen, and these texts. */
static void
write_texts (Page *self, const char *key, GPtrArray *texts)
{
  lu_stream_printf (self->stream, ",\n\"%s\":[", key);
  for (guint i = 0; i < texts->len; i++)
    {
      lu_stream_text (self->stream, i > 0 ? "," : "");
      lu_stream_json (self->stream, g_ptr_array_index (texts, i));
    }
  lu_stream_text (self->stream, "]");
}

static guint
number_text (GHashTable *numbers, GPtrArray *texts, const char *text)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, text));

  if (number != 0)
    return number - 1;
  g_ptr_array_add (texts, (gpointer) text);
  g_hash_table_insert (numbers, (gpointer) text, GUINT_TO_POINTER (texts->len));
  return texts->len - 1;
}

static void
write_modules (Page *self)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  GByteArray *column = g_byte_array_new ();

  for (guint i = 0; i < self->functions->len; i++)
    add_number (column, number_text (numbers, texts, function_at (self, i)->module));
  write_texts (self, "modules", texts);
  write_column (self, "module_of", column);
}

static void
write_places (Page *self)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  GByteArray *column = g_byte_array_new ();

  for (guint i = 0; i < self->functions->len; i++)
    {
      const LuModelFunction *function = function_at (self, i);

      add_number (column, function->defined_in == NULL
                              ? 0
                              : number_text (numbers, texts, function->defined_in) + 1);
      add_number (column, function->defined_at);
    }
  if (texts->len == 0)
    {
      g_byte_array_unref (column);
      return;
    }
  write_texts (self, "files", texts);
  write_column (self, "places", column);
}

static void
write_names (Page *self)
{
  lu_stream_text (self->stream, ",\n\"names\":[");
  for (guint i = 0; i < self->functions->len; i++)
    {
      g_autofree char *text = lu_model_function_text (function_at (self, i));

      lu_stream_text (self->stream, i > 0 ? "," : "");
      lu_stream_json (self->stream, text);
    }
  lu_stream_text (self->stream, "],\n\"full_names\":[");
  for (guint i = 0; i < self->functions->len; i++)
    {
      const LuModelFunction *function = function_at (self, i);

      lu_stream_text (self->stream, i > 0 ? "," : "");
      if (g_str_equal (function->full_name, function->name))
        lu_stream_text (self->stream, "0");
      else
        lu_stream_json (self->stream, function->full_name);
    }
  lu_stream_text (self->stream, "],\n\"kinds\":\"");
  for (guint i = 0; i < self->functions->len; i++)
    lu_stream_printf (self->stream, "%d", (int) function_at (self, i)->kind);
  lu_stream_text (self->stream, "\"");
}

/* Samples */

static void
write_samples (Page *self)
{
  const GArray *samples = self->model->samples;
  GByteArray *column = g_byte_array_new ();
  gint64 last = self->model->begin / 1000;

  for (guint i = 0; i < samples->len; i++)
    {
      const LuModelSample *sample = &g_array_index (samples, LuModelSample, i);
      gint64 time = MAX (sample->time / 1000, last);

      add_number (column, (guint64) (time - last));
      add_number (column, sample->thread);
      add_number (column, self->node_of[sample->node]);
      last = time;
    }
  write_column (self, "samples", column);
}

static void
write_events_of (Page *self)
{
  const GArray *samples = self->model->samples;
  GByteArray *events = g_byte_array_new (), *weights = g_byte_array_new ();
  gboolean any_varies = FALSE;

  for (guint i = 0; i < samples->len; i++)
    {
      const LuModelSample *sample = &g_array_index (samples, LuModelSample, i);

      add_number (events, sample->event);
      add_number (weights, lu_model_sample_weight (self->model, sample));
      any_varies |= lu_model_event (self->model, sample->event)->varies;
    }
  if (lu_model_n_events (self->model) == 1)
    g_byte_array_set_size (events, 0);
  if (!any_varies)
    g_byte_array_set_size (weights, 0);
  write_column (self, "events_of", events);
  write_column (self, "weights", weights);
}

/* Writes the samples that were counted but not kept. */
static void
write_rest (Page *self)
{
  guint n = lu_model_n_counts (self->model);
  g_autofree guint64 *left = g_new (guint64, n + (gsize) 1);
  GByteArray *column = g_byte_array_new ();

  for (guint i = 0; i < n; i++)
    left[i] = lu_model_count (self->model, i).n;
  for (guint i = 0; i < self->model->samples->len; i++)
    {
      const LuModelSample *sample = &g_array_index (self->model->samples, LuModelSample, i);
      LuModelCount key = { .event = sample->event, .thread = sample->thread, .node = sample->node };
      guint32 id = lu_id_table_find (self->model->counted, lu_model_count_key (&key), 0);

      if (id != G_MAXUINT32 && left[id] > 0)
        left[id]--;
    }
  for (guint i = 0; i < n; i++)
    {
      LuModelCount count = lu_model_count (self->model, i);

      if (left[i] == 0)
        continue;
      add_number (column, count.thread);
      add_number (column, self->node_of[count.node]);
      add_number (column, count.event);
      add_number (column, left[i]);
    }
  write_column (self, "rest", column);
}

/* Processes, events and what the recording says about itself */

static void
write_threads (Page *self)
{
  const LuModel *model = self->model;

  lu_stream_text (self->stream, ",\n\"processes\":[");
  for (guint i = 0; i < model->processes->len; i++)
    {
      const LuModelProcess *process = g_ptr_array_index (model->processes, i);

      lu_stream_printf (self->stream, "%s[%d,", i > 0 ? "," : "", process->pid);
      lu_stream_json (self->stream, process->name);
      lu_stream_text (self->stream, ",");
      lu_stream_json (self->stream, process->labels.command_line);
      lu_stream_text (self->stream, "]");
    }
  lu_stream_text (self->stream, "],\n\"threads\":[");
  for (guint i = 0; i < model->threads->len; i++)
    {
      const LuModelThread *thread = lu_model_thread (model, i);
      gboolean has_name = thread->name != lu_model_process_of (model, i)->name;

      lu_stream_printf (self->stream, "%s[%u,%d,", i > 0 ? "," : "", thread->process, thread->tid);
      if (has_name)
        lu_stream_json (self->stream, thread->name);
      else
        lu_stream_text (self->stream, "0");
      lu_stream_text (self->stream, "]");
    }
  lu_stream_text (self->stream, "]");
}

static void
write_events (Page *self)
{
  lu_stream_text (self->stream, ",\n\"events\":[");
  for (guint i = 0; i < lu_model_n_events (self->model); i++)
    {
      const LuEventInfo *event = lu_model_event (self->model, i);

      lu_stream_text (self->stream, i > 0 ? ",[" : "[");
      lu_stream_json (self->stream, event->name);
      lu_stream_text (self->stream, ",");
      lu_stream_json (self->stream, event->unit);
      lu_stream_printf (self->stream, ",%" G_GUINT64_FORMAT "]",
                        event->varies ? 0 : (guint64) event->weight);
    }
  lu_stream_text (self->stream, "]");
}

/* Writes the end states: their titles, and whether "complete %" leaves them out. */
static void
write_states (Page *self)
{
  lu_stream_text (self->stream, ",\n\"states\":{");
  for (int i = 0; i < LU_N_STATUS; i++)
    lu_stream_printf (self->stream, "%s\"%s\":[\"%s\",%d]", i > 0 ? "," : "",
                      lu_status_key ((LuStatus) i), lu_status_title ((LuStatus) i),
                      lu_status_is_excluded ((LuStatus) i));
  lu_stream_text (self->stream, "}");
}

static void
write_head (Page *self)
{
  const LuModel *model = self->model;
  const char *stats = lu_model_metadata (model, LU_SYSCAP_KEY_STATS);
  g_autofree char *time = g_utf8_make_valid (model->capture_time, -1);
  gint64 lost;

  lu_stream_printf (self->stream,
                    "{\"n_samples\":%" G_GUINT64_FORMAT ",\"n_user\":%" G_GUINT64_FORMAT
                    ",\"n_complete\":%" G_GUINT64_FORMAT ",\"duration\":%" G_GINT64_FORMAT
                    ",\"interval\":%" G_GUINT64_FORMAT,
                    model->n_samples, model->n_user, model->n_complete,
                    (model->last - model->begin) / 1000, lu_model_interval (model));
  if (lu_json_find_int (stats, "lost", "samples", &lost))
    lu_stream_printf (self->stream, ",\"lost\":%" G_GINT64_FORMAT, lost);
  lu_stream_printf (self->stream, ",\"by_thread\":%d,\"folds\":%d",
                    (model->flags & LU_MODEL_THREADS) != 0,
                    (model->flags & LU_MODEL_FOLD_RECURSION) != 0);
  write_text (self, "time", time);
  write_text (self, "command", lu_model_metadata (model, "live-unwinder.command"));
  write_text (self, "host", lu_model_metadata (model, "hostname"));
}

static void
write_model (const LuModel *model, LuStream *stream)
{
  Page self = { .model = model,
                .stream = stream,
                .functions = g_array_new (FALSE, FALSE, sizeof (guint32)),
                .function_of = g_new0 (guint32, model->functions->len + (gsize) 1),
                .nodes = lu_id_table_new (2),
                .node_of = g_new0 (guint32, lu_id_table_size (model->nodes) + (gsize) 1) };

  make_tree (&self);
  write_head (&self);
  write_events (&self);
  write_states (&self);
  write_threads (&self);
  write_names (&self);
  write_modules (&self);
  write_places (&self);
  write_nodes (&self);
  write_lines (&self);
  write_samples (&self);
  write_events_of (&self);
  write_rest (&self);
  g_array_unref (self.functions);
  g_free (self.function_of);
  lu_id_table_free (self.nodes);
  g_free (self.node_of);
}

void
lu_page_write (const LuModel *model, const LuModel *before, LuStream *stream)
{
  const char *page = (const char *) lu_page_template;
  const char *place = strstr (page, PLACE);

  lu_stream_write (stream, page, (gsize) (place - page));
  write_model (model, stream);
  if (before != NULL)
    {
      lu_stream_text (stream, ",\n\"before\":");
      write_model (before, stream);
      lu_stream_text (stream, "}");
    }
  lu_stream_text (stream, "}");
  lu_stream_text (stream, place + strlen (PLACE));
}

gboolean
lu_page_save (const LuModel *model, const LuModel *before, int fd_taken, GError **error)
{
  g_autoptr (LuStream) stream = lu_stream_new (fd_taken, FALSE);

  lu_page_write (model, before, stream);
  return lu_stream_finish (stream, error);
}
