/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format-callgrind.c - callgrind's format, for KCachegrind and callgrind_annotate
 * (https://valgrind.org/docs/manual/cl-format.html): what each function has by itself, by line, and
 * each call with everything below it. Costs are samples, with a column for each event.
 *
 * A call counts once for a stack, however often the stack has it, so no call has more than all
 * samples. KCachegrind shows functions that call each other as cycles. Programs are functions that
 * call the outermost ones. How often a function was called is not known: "calls" has samples. */

#include "format.h"

#include <string.h>

#define NOTHING G_MAXUINT32

/* A line of a function, and maybe what it calls. */
typedef struct
{
  guint32 function, callee; /* NOTHING: its own cost */
  guint32 line;             /* 0: not known */
  guint32 costs;            /* index of the first cost */
} Entry;

typedef struct
{
  const LuModel *model;
  LuStream *stream;
  GPtrArray *programs;     /* of names, borrowed; their numbers follow those of functions */
  GHashTable *program_ids; /* name -> number + 1 */
  LuIdTable *pairs;        /* caller, callee */
  GArray *seen;            /* of guint32: number + 1 of the last stack with the pair */
  LuIdTable *ids;          /* function, pair or NOTHING, line -> entry */
  GArray *entries;         /* of Entry */
  GArray *costs;           /* of guint64, n_events for each entry */
  GArray *path;            /* of guint32: nodes */
  guint8 *named[3];        /* whether a name was written, by number: functions, files, objects */
  GPtrArray *texts;        /* of files and objects */
  GHashTable *text_ids;    /* text -> number + 1 */
} Writer;

/* Adding up */

static guint32
program_of (Writer *self, guint32 thread)
{
  const char *name = lu_model_process_of (self->model, thread)->name;
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->program_ids, name));

  if (number == 0)
    {
      g_ptr_array_add (self->programs, (gpointer) name);
      number = self->programs->len;
      g_hash_table_insert (self->program_ids, (gpointer) name, GUINT_TO_POINTER (number));
    }
  return self->model->functions->len + number - 1;
}

static void
add_cost (Writer *self, Entry entry, const LuModelCount *count)
{
  guint n_events = lu_model_n_events (self->model);
  guint64 target = (guint64) entry.callee << 32 | entry.line;
  guint32 id = lu_id_table_add (self->ids, entry.function, target);

  if (id == self->entries->len)
    {
      entry.costs = self->costs->len;
      g_array_append_val (self->entries, entry);
      g_array_set_size (self->costs, self->costs->len + n_events);
    }
  g_array_index (self->costs, guint64, id * n_events + count->event) += count->n;
}

/* Returns whether a stack has the call for the first time. */
static gboolean
is_first (Writer *self, guint32 caller, guint32 callee, guint32 stack)
{
  guint32 pair = lu_id_table_add (self->pairs, (guint64) caller << 32 | callee, 0);

  if (pair == self->seen->len)
    g_array_set_size (self->seen, pair + 1);
  if (g_array_index (self->seen, guint32, pair) == stack + 1)
    return FALSE;
  g_array_index (self->seen, guint32, pair) = stack + 1;
  return TRUE;
}

static void
add_stack (Writer *self, guint32 stack)
{
  LuModelCount count = lu_model_count (self->model, stack);
  Entry entry = { .function = program_of (self, count.thread) };

  lu_model_path (self->model, count.node, self->path);
  for (guint i = 0; i < self->path->len; i++)
    {
      guint32 node = g_array_index (self->path, guint32, i);
      const LuModelFrame *frame =
          lu_model_frame (self->model, lu_model_node (self->model, node).frame);

      entry.callee = frame->function;
      if (is_first (self, entry.function, entry.callee, stack))
        add_cost (self, entry, &count);
      entry.function = frame->function;
      entry.line = frame->line;
    }
  entry.callee = NOTHING;
  add_cost (self, entry, &count);
}

/* Writing */

/* Writes a text without what ends lines. */
static void
write_clean (Writer *self, const char *text)
{
  g_autofree char *clean = g_utf8_make_valid (text, -1);

  for (char *at = clean; *at != 0; at = g_utf8_next_char (at))
    if (g_unichar_iscntrl (g_utf8_get_char (at)))
      memset (at, ' ', (gsize) (g_utf8_next_char (at) - at));
  g_strstrip (clean);
  lu_stream_text (self->stream, clean[0] != 0 ? clean : "?");
}

/* Writes "KEY=(NUMBER) TEXT"; the text only the first time. */
static void
write_name (Writer *self, const char *key, guint8 *named, guint32 number, const char *text)
{
  lu_stream_printf (self->stream, "%s=(%u)", key, number + 1);
  if (!named[number])
    {
      lu_stream_text (self->stream, " ");
      write_clean (self, text);
    }
  named[number] = 1;
  lu_stream_text (self->stream, "\n");
}

static guint32
text_id (Writer *self, const char *text)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->text_ids, text));

  if (number == 0)
    {
      g_ptr_array_add (self->texts, (gpointer) text);
      number = self->texts->len;
      g_hash_table_insert (self->text_ids, (gpointer) text, GUINT_TO_POINTER (number));
    }
  return number - 1;
}

static void
write_place (Writer *self, const char *const keys[3], guint32 number)
{
  const LuModelFunction *function =
      number < self->model->functions->len
          ? &g_array_index (self->model->functions, LuModelFunction, number)
          : NULL;
  const char *object = function != NULL && function->module[0] != 0 ? function->module : "???";
  const char *file =
      function != NULL && function->defined_in != NULL ? function->defined_in : "???";
  g_autofree char *name = function != NULL ? lu_model_function_text (function) : NULL;

  write_name (self, keys[0], self->named[0], text_id (self, object), object);
  write_name (self, keys[1], self->named[1], text_id (self, file), file);
  write_name (self, keys[2], self->named[2], number,
              name != NULL ? name
                           : (const char *) g_ptr_array_index (
                               self->programs, number - self->model->functions->len));
}

static void
write_costs (Writer *self, const Entry *entry)
{
  lu_stream_printf (self->stream, "%u", entry->line);
  for (guint i = 0; i < lu_model_n_events (self->model); i++)
    lu_stream_printf (self->stream, " %" G_GUINT64_FORMAT,
                      g_array_index (self->costs, guint64, entry->costs + i));
  lu_stream_text (self->stream, "\n");
}

static guint64
cost_of (const Writer *self, const Entry *entry)
{
  guint64 sum = 0;

  for (guint i = 0; i < lu_model_n_events (self->model); i++)
    sum += g_array_index (self->costs, guint64, entry->costs + i);
  return sum;
}

static void
write_entries (Writer *self)
{
  static const char *const own[] = { "ob", "fl", "fn" }, *const called[] = { "cob", "cfi", "cfn" };
  guint32 last = NOTHING;

  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);

      if (entry->function != last)
        {
          lu_stream_text (self->stream, "\n");
          write_place (self, own, entry->function);
        }
      last = entry->function;
      if (entry->callee != NOTHING)
        {
          write_place (self, called, entry->callee);
          lu_stream_printf (self->stream, "calls=%" G_GUINT64_FORMAT " 0\n", cost_of (self, entry));
        }
      write_costs (self, entry);
    }
}

/* Own costs come before calls. */
static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->function != y->function)
    return x->function < y->function ? -1 : 1;
  if (x->callee != y->callee)
    return x->callee + 1 < y->callee + 1 ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Writes the columns: "Samples", or one for each event. */
static void
write_events (Writer *self)
{
  guint n = lu_model_n_events (self->model);

  for (guint i = 0; n > 1 && i < n; i++)
    {
      lu_stream_printf (self->stream, "event: e%u : samples of ", i);
      write_clean (self, lu_model_event (self->model, i)->name);
      lu_stream_text (self->stream, "\n");
    }
  lu_stream_text (self->stream, n == 1 ? "events: Samples" : "events:");
  for (guint i = 0; n > 1 && i < n; i++)
    lu_stream_printf (self->stream, " e%u", i);
}

static void
write_head (Writer *self)
{
  const LuModel *model = self->model;
  const char *command = lu_model_metadata (model, "live-unwinder.command");
  g_autofree guint64 *sums = g_new0 (guint64, lu_model_n_events (model));

  lu_stream_text (self->stream, "# callgrind format\nversion: 1\ncreator: live-unwinder\ncmd: ");
  write_clean (self, command != NULL ? command : "?");
  lu_stream_text (self->stream, "\npositions: line\n");
  write_events (self);
  lu_stream_text (self->stream, "\nsummary:");
  for (guint i = 0; i < lu_model_n_counts (model); i++)
    sums[lu_model_count (model, i).event] += lu_model_count (model, i).n;
  for (guint i = 0; i < lu_model_n_events (model); i++)
    lu_stream_printf (self->stream, " %" G_GUINT64_FORMAT, sums[i]);
  lu_stream_text (self->stream, "\n");
}

static void
writer_clear (Writer *self)
{
  g_ptr_array_unref (self->programs);
  g_hash_table_unref (self->program_ids);
  lu_id_table_free (self->pairs);
  g_array_unref (self->seen);
  lu_id_table_free (self->ids);
  g_array_unref (self->entries);
  g_array_unref (self->costs);
  g_array_unref (self->path);
  g_ptr_array_unref (self->texts);
  g_hash_table_unref (self->text_ids);
  for (guint i = 0; i < G_N_ELEMENTS (self->named); i++)
    g_free (self->named[i]);
}

static void
write_callgrind (const LuModel *model, LuStream *stream)
{
  Writer self = { .model = model,
                  .stream = stream,
                  .programs = g_ptr_array_new (),
                  .program_ids = g_hash_table_new (g_str_hash, g_str_equal),
                  .pairs = lu_id_table_new (1),
                  .seen = g_array_new (FALSE, TRUE, sizeof (guint32)),
                  .ids = lu_id_table_new (2),
                  .entries = g_array_new (FALSE, FALSE, sizeof (Entry)),
                  .costs = g_array_new (FALSE, TRUE, sizeof (guint64)),
                  .path = g_array_new (FALSE, FALSE, sizeof (guint32)),
                  .texts = g_ptr_array_new (),
                  .text_ids = g_hash_table_new (g_str_hash, g_str_equal) };
  guint n_functions;

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    add_stack (&self, i);
  g_array_sort (self.entries, compare_entries);
  n_functions = model->functions->len + self.programs->len;
  self.named[0] = g_new0 (guint8, 2 * model->functions->len + 2);
  self.named[1] = g_new0 (guint8, 2 * model->functions->len + 2);
  self.named[2] = g_new0 (guint8, n_functions + (gsize) 1);
  write_head (&self);
  write_entries (&self);
  writer_clear (&self);
}

const LuFormat lu_format_callgrind = {
  .name = "callgrind",
  .suffixes = { ".callgrind", ".callgrind.out" },
  .has_lines_of_functions = TRUE,
  .write = write_callgrind,
};
