/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-tail-calls.c - shows functions that ended with a tail call; see model.h.
 *
 * They become ordinary frames and nodes in a new tree, as inlined functions do. Each pair of a
 * return address and a function is asked for once, however many stacks have it. */

#include "capture/syscap-symbols.h"
#include "model-private.h"
#include "symbolize/tail-calls.h"

/* Each is a frame. */
#define MAX_TAIL_CALLS (256u << 10)
/* Captures with hundreds of thousands of different stacks have some ten thousand. */
#define MAX_PAIRS (32u << 10)

typedef struct
{
  LuModel *model;
  LuIdTable *pairs;  /* frame of the caller << 32 | function of the callee */
  GArray *queries;   /* of LuTailQuery, by pair; later sorted */
  LuModelRun *runs;  /* by pair: what to show, as indices of `numbers` */
  GArray *numbers;   /* of guint32: frames */
  LuIdTable *frames; /* (module, file offset) of tail calls, in the order of their frames */
  guint32 first;     /* of these */
} Adder;

/* Returns the pair of a node and its caller; G_MAXUINT64 if both are not code in files. */
static guint64
pair_of (const LuModel *model, LuModelNode node)
{
  const LuModelFrame *callee = lu_model_frame (model, node.frame), *caller;
  guint32 frame;

  if (node.parent == 0 || callee->kind != LU_CODE_USER)
    return G_MAXUINT64;
  frame = lu_model_node (model, node.parent).frame;
  caller = lu_model_frame (model, frame);
  return caller->kind == LU_CODE_USER ? (guint64) frame << 32 | callee->function : G_MAXUINT64;
}

/* Returns the file offset where the function of a frame begins, if that is known without the file;
 * else G_MAXUINT64. */
static guint64
start_of (const LuModel *model, guint n_symbols, const LuModelFrame *frame)
{
  LuSyscapSymbol symbol;

  if (frame->offset != 0)
    return frame->file_offset - frame->offset;
  if (!lu_syscap_symbols_find (model->symbols, n_symbols, frame->pid, frame->address, &symbol)
      || symbol.is_place)
    return G_MAXUINT64;
  return frame->file_offset - (frame->address - symbol.begin);
}

static void
collect (Adder *self)
{
  const LuModel *model = self->model;
  guint n_symbols = lu_syscap_symbols_count (model->symbols);

  for (guint32 i = 1;
       i <= lu_id_table_size (model->nodes) && lu_id_table_size (self->pairs) < MAX_PAIRS; i++)
    {
      LuModelNode node = lu_model_node (model, i);
      guint64 pair = pair_of (model, node);
      const LuModelFrame *caller, *callee = lu_model_frame (model, node.frame);
      LuTailQuery query = { .number = self->queries->len };

      if (pair == G_MAXUINT64 || lu_id_table_add (self->pairs, pair, 0) != self->queries->len)
        continue;
      caller = lu_model_frame (model, (guint32) (pair >> 32));
      query.caller_file = caller->module;
      query.return_offset = caller->file_offset + 1;
      query.callee_file = callee->module;
      query.callee_offset = callee->file_offset;
      query.callee_start = start_of (model, n_symbols, callee);
      g_array_append_val (self->queries, query);
    }
}

static GArray *
find_all (const Adder *self)
{
  const LuModel *model = self->model;
  guint n = model->modules->len;
  g_autofree LuNameFile *files = g_new0 (LuNameFile, n + 1);
  g_autofree LuNameFetched *fetched = g_new0 (LuNameFetched, n + 1);
  const LuTailCallsOptions options = {
    .files = files, .n_files = n, .progress = model->go_on, .progress_data = model->go_on_data
  };

  for (guint i = 0; i < n; i++)
    {
      const LuModelModule *module = g_ptr_array_index (model->modules, i);

      files[i] = module->mapped;
      if (model->debuginfod != NULL
          && lu_debuginfod_find (model->debuginfod, module->id->build_id, &fetched[i]))
        files[i].fetched = &fetched[i];
    }
  return lu_tail_calls_find (&options, (LuTailQuery *) (gpointer) self->queries->data,
                             self->queries->len);
}

/* Returns the number of the frame of a tail call. */
static guint32
frame_of (Adder *self, const LuTailCall *call, const LuModelFrame *caller)
{
  const LuModelModule *module = g_ptr_array_index (self->model->modules, call->file);
  guint32 id = lu_id_table_add (self->frames, call->file, call->file_offset);
  LuModelFrame frame = {
    .kind = LU_CODE_USER,
    .module = call->file,
    .file_offset = call->file_offset,
    .address = call->file_offset - module->file_offset + module->mapped.start,
    .pid = caller->pid,
    .time = caller->time,
  };

  if (self->first + id == self->model->frames->len)
    g_array_append_val (self->model->frames, frame);
  return self->first + id;
}

static void
add_frames (Adder *self, const LuTailQuery *query, const GArray *calls)
{
  guint64 pair = *lu_id_table_key (self->pairs, query->number);
  LuModelFrame caller = *lu_model_frame (self->model, (guint32) (pair >> 32));

  self->runs[query->number] = (LuModelRun){ self->numbers->len, query->n };
  for (guint i = 0; i < query->n; i++)
    {
      guint32 frame =
          frame_of (self, &g_array_index (calls, LuTailCall, query->first + i), &caller);

      g_array_append_val (self->numbers, frame);
    }
}

/* Puts the frames into the tree. */
static void
expand (const Adder *self)
{
  LuModel *model = self->model;
  guint32 n = lu_id_table_size (model->nodes);
  g_autofree LuModelRun *before = g_new0 (LuModelRun, n + (gsize) 1);

  for (guint32 i = 1; i <= n; i++)
    {
      guint64 pair = pair_of (model, lu_model_node (model, i));

      guint32 number = pair != G_MAXUINT64 ? lu_id_table_find (self->pairs, pair, 0) : G_MAXUINT32;

      if (number != G_MAXUINT32)
        before[i] = self->runs[number];
    }
  lu_model_expand (
      model, &(LuModelRuns){ before, (const guint32 *) (gpointer) self->numbers->data }, NULL);
}

void
lu_model_add_tail_calls (LuModel *model)
{
  Adder self = { .model = model, .first = model->frames->len };
  g_autoptr (GArray) calls = NULL;

  /* Callchains made by frame pointers lose callers in another way. */
  if (model->has_chains_only || (model->flags & LU_MODEL_NO_TAIL_CALLS))
    return;
  self.pairs = lu_id_table_new (1);
  self.frames = lu_id_table_new (2);
  self.queries = g_array_new (FALSE, FALSE, sizeof (LuTailQuery));
  self.numbers = g_array_new (FALSE, FALSE, sizeof (guint32));
  collect (&self);
  self.runs = g_new0 (LuModelRun, self.queries->len + (gsize) 1);
  calls = find_all (&self);
  for (guint i = 0; i < self.queries->len && self.numbers->len < MAX_TAIL_CALLS; i++)
    add_frames (&self, &g_array_index (self.queries, LuTailQuery, i), calls);
  if (self.numbers->len > 0)
    {
      expand (&self);
      lu_model_name_tail_calls (model, self.first);
    }
  g_free (self.runs);
  lu_id_table_free (self.pairs);
  lu_id_table_free (self.frames);
  g_array_unref (self.queries);
  g_array_unref (self.numbers);
}
