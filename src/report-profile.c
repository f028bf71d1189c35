/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-profile.c - adds up a model by function; see report-profile.h. */

#include "report-profile.h"

#include "base/json.h"
#include "output/model-names.h"
#include "output/syscap-stack.h"
#include "replay.h"

#include <string.h>

typedef struct
{
  LuProfile *profile;
  LuModel *model;
  GArray *numbers; /* of a model's function: LuReportFunction*, NULL for states */
  guint64 n_stacks;
} Loader;

static void
function_free (gpointer pointer)
{
  LuReportFunction *self = pointer;

  g_free (self->name);
  g_free (self->text);
  g_free (self->file);
  g_free (self);
}

static void
state_free (gpointer pointer)
{
  g_free (((LuReportState *) pointer)->name);
  g_free (pointer);
}

/* The lost samples that the statistics of the recorder name. */
static gint64
lost_of_stats (const char *json)
{
  gint64 lost;

  return lu_json_find_int (json, "lost", "samples", &lost) ? lost : -1;
}

static void
add_functions (Loader *self)
{
  g_array_set_size (self->numbers, self->model->functions->len);
  for (guint i = 0; i < self->model->functions->len; i++)
    {
      const LuModelFunction *source = &g_array_index (self->model->functions, LuModelFunction, i);
      LuReportFunction *function = NULL;

      if (source->kind != LU_CODE_STATE)
        {
          function = g_new0 (LuReportFunction, 1);
          function->name = g_strdup (source->name);
          function->text = lu_model_function_text (source);
          function->file = g_strdup (source->file);
          function->line = source->line;
          function->is_inlined = source->is_inlined;
          function->module = g_string_chunk_insert_const (self->profile->strings, source->module);
          g_ptr_array_add (self->profile->functions, function);
        }
      g_array_index (self->numbers, LuReportFunction *, i) = function;
    }
}

static void
add_states (Loader *self)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, self->model->state_names);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      LuReportState *state = g_new0 (LuReportState, 1);
      const char *name = value;
      gsize length = strlen (name);

      state->address = *(const guint64 *) key;
      state->name = length > 2 && name[0] == '[' && name[length - 1] == ']'
                        ? g_strndup (name + 1, length - 2)
                        : g_strdup (name);
      if (state->address - LU_SYNTHETIC_BASE < LU_N_STATUS)
        state->excluded = lu_status_is_excluded ((LuStatus) (state->address - LU_SYNTHETIC_BASE));
      g_ptr_array_add (self->profile->states, state);
    }
}

static void
count_state (Loader *self, guint64 address, guint64 n)
{
  for (guint i = 0; i < self->profile->states->len; i++)
    {
      LuReportState *state = g_ptr_array_index (self->profile->states, i);

      if (state->address == address && address != LU_SYSCAP_LEFT_OUT && address != LU_MODEL_REST)
        state->n += n;
    }
}

/* All samples of one stack. */
static void
add_stack (Loader *self, guint32 leaf, guint64 n)
{
  gboolean is_leaf = TRUE;
  LuModelNode node;

  self->n_stacks++;
  for (guint32 number = leaf; number != 0; number = node.parent)
    {
      const LuModelFrame *frame;
      LuReportFunction *function;

      node = lu_model_node (self->model, number);
      frame = lu_model_frame (self->model, node.frame);
      function = g_array_index (self->numbers, LuReportFunction *, frame->function);
      if (frame->kind == LU_CODE_STATE && node.parent == 0)
        count_state (self, frame->address, n);
      if (function == NULL)
        continue;
      if (is_leaf)
        function->self += n;
      is_leaf = FALSE;
      if (function->last_stack != self->n_stacks)
        {
          function->last_stack = self->n_stacks;
          function->total += n;
        }
    }
}

static void
add_up (Loader *self)
{
  for (guint i = 0; i < self->model->counts->len; i++)
    {
      guint64 key = *lu_id_table_key (self->model->counted, i);

      add_stack (self, (guint32) key, g_array_index (self->model->counts, guint64, i));
    }
}

LuProfile *
lu_profile_load (const char *path, LuDebuginfod *debuginfod, GError **error)
{
  g_autoptr (LuModel) model = lu_replay_load (path, 0, error);

  if (model == NULL)
    return NULL;
  model->debuginfod = debuginfod;
  lu_model_name (model, 0);
  return lu_profile_new (model);
}

LuProfile *
lu_profile_new (LuModel *model)
{
  LuProfile *profile;
  Loader loader = { .model = model };

  profile = g_new0 (LuProfile, 1);
  profile->functions = g_ptr_array_new_with_free_func (function_free);
  profile->states = g_ptr_array_new_with_free_func (state_free);
  profile->strings = g_string_chunk_new (4096);
  profile->n_samples = model->n_samples;
  profile->n_user = model->n_user;
  profile->n_complete = model->n_complete;
  profile->n_lost = lost_of_stats (lu_model_metadata (model, LU_SYSCAP_KEY_STATS));
  profile->begin = model->begin;
  profile->end = model->last;
  profile->is_cut = model->is_cut;
  profile->is_finished = model->is_finished;
  profile->has_kernel_names = model->has_kernel_names;

  loader.profile = profile;
  loader.numbers = g_array_new (FALSE, TRUE, sizeof (LuReportFunction *));
  add_functions (&loader);
  add_states (&loader);
  add_up (&loader);
  g_array_unref (loader.numbers);
  return profile;
}

int
lu_profile_compare_self (gconstpointer a, gconstpointer b)
{
  const LuReportFunction *x = *(gconstpointer const *) a, *y = *(gconstpointer const *) b;

  if (x->self != y->self)
    return x->self > y->self ? -1 : 1;
  if (x->total != y->total)
    return x->total > y->total ? -1 : 1;
  return strcmp (x->text, y->text);
}

void
lu_profile_free (LuProfile *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->functions);
  g_ptr_array_unref (self->states);
  g_string_chunk_free (self->strings);
  g_free (self);
}
