/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-lines.c - gives the frames of a model their lines and inlined functions; see model.h.
 *
 * Inlined functions become ordinary frames and nodes in a new tree, so readers of a model need not
 * know about them. Only readers that tell addresses apart look at LuModelFrame.outer. */

#include "model-private.h"
#include "symbolize/lines.h"

#include <glib/gi18n.h>

#define MAX_INLINED (1u << 20)

static const char *const reasons[] = {
  [LU_LINES_READ] = N_ ("no line there"),
  [LU_LINES_NO_FILE] = N_ ("the file is gone, or another one is in its place"),
  [LU_LINES_NO_DWARF] = N_ ("no debug information; a debug package may have it"),
  [LU_LINES_TOO_LARGE] = N_ ("too large"),
  [LU_LINES_TOO_SLOW] = N_ ("it took too long"),
  [LU_LINES_BROKEN] = N_ ("its debug information is broken, or needs too much memory"),
  [LU_LINES_SKIPPED] = N_ ("skipped for lack of time or by Ctrl-C"),
};

/* A module and its frames in user code. */
typedef struct
{
  guint32 module;
  guint64 weight; /* samples, counted once for each frame */
  GArray *frames; /* of guint32, most samples first; owned */
} Work;

typedef struct
{
  LuModel *model;
  LuModelLinesFlags flags;
  LuLines *lines;
  guint64 *weights;         /* by frame: samples */
  LuModelRun *inlined;      /* by frame: its frames, the outermost first */
  LuIdTable *function_ids;  /* (name, module) of inlined functions */
  GArray *function_numbers; /* of guint32: their numbers in the model, in the order of these */
} Adder;

/* Returns how often each frame occurs in the stacks of samples. */
static guint64 *
weigh_frames (const LuModel *model)
{
  guint32 n = lu_id_table_size (model->nodes);
  g_autofree guint64 *totals = g_new0 (guint64, n + (gsize) 1);
  guint64 *weights = g_new0 (guint64, model->frames->len + (gsize) 1);

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    {
      LuModelCount count = lu_model_count (model, i);

      totals[count.node] += count.n;
    }
  for (guint32 node = n; node > 0; node--)
    {
      LuModelNode content = lu_model_node (model, node);

      weights[content.frame] += totals[node];
      totals[content.parent] += totals[node];
    }
  return weights;
}

static void
work_clear (gpointer pointer)
{
  g_array_unref (((Work *) pointer)->frames);
}

static int
compare_work (gconstpointer a, gconstpointer b)
{
  const Work *x = a, *y = b;

  if (x->weight != y->weight)
    return x->weight > y->weight ? -1 : 1;
  return x->module < y->module ? -1 : x->module > y->module;
}

static int
compare_weights (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint64 *weights = data;
  guint64 x = weights[*(const guint32 *) a], y = weights[*(const guint32 *) b];

  return x > y ? -1 : x < y;
}

/* Returns the modules with their frames, most samples first. */
static GArray *
plan (const Adder *self)
{
  const LuModel *model = self->model;
  GArray *plan = g_array_new (FALSE, TRUE, sizeof (Work));

  g_array_set_clear_func (plan, work_clear);
  g_array_set_size (plan, model->modules->len);
  for (guint32 i = 0; i < plan->len; i++)
    g_array_index (plan, Work, i) =
        (Work){ .module = i, .frames = g_array_new (FALSE, FALSE, sizeof (guint32)) };
  for (guint32 i = 0; i < model->frames->len; i++)
    {
      const LuModelFrame *frame = lu_model_frame (model, i);
      Work *work;

      if (frame->kind != LU_CODE_USER || self->weights[i] == 0)
        continue;
      work = &g_array_index (plan, Work, frame->module);
      work->weight += self->weights[i];
      g_array_append_val (work->frames, i);
    }
  for (guint i = 0; i < plan->len; i++)
    g_array_sort_with_data (g_array_index (plan, Work, i).frames, compare_weights, self->weights);
  g_array_sort (plan, compare_work);
  return plan;
}

static const char *
keep_text (Adder *self, const char *text)
{
  return text != NULL ? g_string_chunk_insert_const (self->model->texts, text) : NULL;
}

/* Returns the file that defines a function, or else the file of its code: formats with lines need a
 * file for each function. */
static const char *
file_of_function (Adder *self, const LuLine *line)
{
  return keep_text (self, line->defined_in != NULL ? line->defined_in : line->file);
}

static guint32
inlined_function (Adder *self, const LuLine *line, const LuModelFunction *outer)
{
  const char *name = keep_text (self, line->function != NULL ? line->function : "(no name)");
  guint32 id = lu_id_table_add (self->function_ids, (guintptr) name, (guintptr) outer->module);
  LuModelFunction function = { .module = outer->module,
                               .kind = outer->kind,
                               .has_name = line->function != NULL,
                               .is_inlined = TRUE,
                               .defined_in = file_of_function (self, line),
                               .defined_at = line->defined_at };
  guint32 number = self->model->functions->len;

  if (id < self->function_numbers->len)
    return g_array_index (self->function_numbers, guint32, id);
  lu_model_set_name (self->model, &function, name);
  g_array_append_val (self->model->functions, function);
  g_array_append_val (self->function_numbers, number);
  return number;
}

/* Adds frames for the functions inlined at a frame. lines: the innermost first. */
static void
add_inlined (Adder *self, guint32 number, const LuLine *lines, guint n_lines)
{
  GArray *frames = self->model->frames;
  LuModelFrame frame = g_array_index (frames, LuModelFrame, number);
  LuModelFunction outer = g_array_index (self->model->functions, LuModelFunction, frame.function);

  if (n_lines < 2 || frames->len - self->model->n_code_frames + n_lines > MAX_INLINED)
    return;
  self->inlined[number] = (LuModelRun){ frames->len, n_lines - 1 };
  frame.outer = number;
  frame.is_inlined = TRUE;
  for (guint i = n_lines - 1; i > 0; i--)
    {
      frame.function = inlined_function (self, &lines[i - 1], &outer);
      frame.file = keep_text (self, lines[i - 1].file);
      frame.line = lines[i - 1].line;
      g_array_append_val (frames, frame);
    }
}

static void
take_lines (Adder *self, guint32 number, const LuLineQuery *query)
{
  LuModelFrame *frame = &g_array_index (self->model->frames, LuModelFrame, number);
  LuModelFunction *function =
      &g_array_index (self->model->functions, LuModelFunction, frame->function);
  const LuLine *outermost = &query->lines[query->n_lines - 1];
  /* Without frames for inlined functions, the innermost line is the most useful one. */
  const LuLine *shown = self->flags & LU_MODEL_INLINES ? outermost : &query->lines[0];

  frame->file = keep_text (self, shown->file);
  frame->line = shown->line;
  if (function->has_name && function->defined_at == 0)
    {
      function->defined_in = file_of_function (self, outermost);
      function->defined_at = outermost->defined_at;
    }
  if (self->flags & LU_MODEL_INLINES)
    add_inlined (self, number, query->lines, query->n_lines);
}

static void
read_module (Adder *self, const Work *work)
{
  LuNameFetched fetched;
  LuModelModule *module = g_ptr_array_index (self->model->modules, work->module);
  LuNameFile file = module->mapped;
  g_autofree LuLineQuery *queries = g_new0 (LuLineQuery, work->frames->len + 1);
  LuLinesResult result;

  if (self->model->debuginfod != NULL
      && lu_debuginfod_find (self->model->debuginfod, module->id->build_id, &fetched))
    file.fetched = &fetched;
  for (guint i = 0; i < work->frames->len; i++)
    queries[i].file_offset =
        lu_model_frame (self->model, g_array_index (work->frames, guint32, i))->file_offset;
  result = module->path[0] == '/'
               ? lu_lines_find_all (self->lines, &file, queries, work->frames->len)
               : LU_LINES_NO_DWARF;
  for (guint i = 0; i < work->frames->len; i++)
    if (queries[i].n_lines > 0)
      take_lines (self, g_array_index (work->frames, guint32, i), &queries[i]);
    else
      module->without_lines = reasons[result];
}

void
lu_model_add_lines (LuModel *model, LuModelLinesFlags flags)
{
  Adder self = { .model = model, .flags = flags };
  g_autoptr (GArray) work = NULL;

  model->n_code_frames = model->frames->len;
  self.weights = weigh_frames (model);
  self.inlined = g_new0 (LuModelRun, model->frames->len + (gsize) 1);
  self.function_ids = lu_id_table_new (2);
  self.function_numbers = g_array_new (FALSE, FALSE, sizeof (guint32));
  self.lines = lu_lines_new (LU_LINES_FILE_SECONDS, LU_LINES_TOTAL_SECONDS);
  work = plan (&self);
  for (guint i = 0; i < work->len; i++)
    if (g_array_index (work, Work, i).frames->len > 0)
      read_module (&self, &g_array_index (work, Work, i));
  if (model->frames->len > model->n_code_frames)
    lu_model_expand (model, NULL, &(LuModelRuns){ self.inlined, NULL });
  lu_lines_free (self.lines);
  lu_id_table_free (self.function_ids);
  g_array_unref (self.function_numbers);
  g_free (self.weights);
  g_free (self.inlined);
}

void
lu_model_split_lines (LuModel *model)
{
  g_autoptr (LuIdTable) ids = lu_id_table_new (2);
  guint n_whole = model->functions->len;

  for (guint32 i = 0; i < model->frames->len; i++)
    {
      LuModelFrame *frame = &g_array_index (model->frames, LuModelFrame, i);
      LuModelFunction function;
      guint32 id;

      if (frame->line == 0)
        continue;
      id = lu_id_table_add (ids, (guint64) frame->function << 32 | frame->line,
                            (guintptr) frame->file);
      if (id == model->functions->len - n_whole)
        {
          function = g_array_index (model->functions, LuModelFunction, frame->function);
          function.file = frame->file;
          function.line = frame->line;
          g_array_append_val (model->functions, function);
        }
      frame->function = n_whole + id;
    }
}

static gboolean
is_left_out (const LuModelModule *module)
{
  return module->without_lines == reasons[LU_LINES_TOO_LARGE]
         || module->without_lines == reasons[LU_LINES_TOO_SLOW]
         || module->without_lines == reasons[LU_LINES_BROKEN]
         || module->without_lines == reasons[LU_LINES_SKIPPED];
}

char *
lu_model_lines_left_out (const LuModel *model)
{
  g_autofree guint64 *weights = weigh_frames (model);
  g_autofree guint64 *of_module = g_new0 (guint64, model->modules->len + (gsize) 1);
  guint64 all = 0, left_out = 0, most = 0;
  const LuModelModule *first = NULL;
  guint n = 0;

  for (guint32 i = 0; i < model->n_code_frames; i++)
    {
      const LuModelFrame *frame = lu_model_frame (model, i);

      if (frame->kind != LU_CODE_USER)
        continue;
      all += weights[i];
      of_module[frame->module] += frame->line == 0 ? weights[i] : 0;
    }
  for (guint i = 0; i < model->modules->len; i++)
    {
      const LuModelModule *module = g_ptr_array_index (model->modules, i);

      if (!is_left_out (module))
        continue;
      n++;
      left_out += of_module[i];
      if (first == NULL || of_module[i] > most)
        {
          first = module;
          most = of_module[i];
        }
    }
  if (n == 0)
    return NULL;
  return g_strdup_printf (
      ngettext ("Lines left out in %u file, with %.2f %% of the frames of programs; "
                "first of all %s: %s",
                "Lines left out in %u files, with %.2f %% of the frames of programs; "
                "first of all %s: %s",
                n),
      n, all > 0 ? 100.0 * (double) left_out / (double) all : 0.0, first->path,
      _ (first->without_lines));
}
