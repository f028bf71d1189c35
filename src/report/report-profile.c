/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-profile.c - adds up a model by function; see report-profile.h. */

#include "report-profile.h"

#include "base/json.h"
#include "capture/syscap-stack.h"
#include "replay.h"

typedef struct
{
  LuProfile *profile;
  const LuModel *model;
  LuReportFunction **by_number; /* of a model's function; NULL for states */
  guint64 n_stacks;
} Loader;

static void
function_free (gpointer pointer)
{
  LuReportFunction *self = pointer;

  g_free (self->text);
  g_free (self);
}

static void
state_free (gpointer pointer)
{
  g_free (((LuReportState *) pointer)->name);
  g_free (pointer);
}

/* Returns the lost samples that the recorder counted. */
static gint64
lost_of_stats (const char *json)
{
  gint64 lost;

  return lu_json_find_int (json, "lost", "samples", &lost) ? lost : -1;
}

static void
add_functions (Loader *self)
{
  for (guint i = 0; i < self->model->functions->len; i++)
    {
      const LuModelFunction *source = &g_array_index (self->model->functions, LuModelFunction, i);
      LuReportFunction *function;

      if (source->kind == LU_CODE_STATE)
        continue;
      function = g_new0 (LuReportFunction, 1);
      function->source = source;
      function->name_length = strlen (source->name);
      function->text = lu_model_function_text (source);
      g_ptr_array_add (self->profile->functions, function);
      self->by_number[i] = function;
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

/* Adds all samples of one stack. */
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
      function = self->by_number[frame->function];
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
  for (guint i = 0; i < lu_model_n_counts (self->model); i++)
    {
      LuModelCount count = lu_model_count (self->model, i);

      add_stack (self, count.node, count.n);
    }
}

LuProfile *
lu_profile_load (const char *path, const LuProfileLoad *options, GError **error)
{
  g_autoptr (LuModel) model = lu_replay_load (path, options->flags, options->kallsyms, error);

  if (model == NULL)
    return NULL;
  model->debuginfod = options->debuginfod;
  lu_model_name (model, 0);
  lu_model_add_tail_calls (model);
  model->debuginfod = NULL;
  return lu_profile_new (g_steal_pointer (&model));
}

LuProfile *
lu_profile_new (LuModel *model)
{
  LuProfile *profile = g_new0 (LuProfile, 1);
  g_autofree LuReportFunction **by_number = g_new0 (LuReportFunction *, model->functions->len + 1);
  Loader loader = { .profile = profile, .model = model, .by_number = by_number };

  profile->model = model;
  profile->functions = g_ptr_array_new_with_free_func (function_free);
  profile->states = g_ptr_array_new_with_free_func (state_free);
  profile->n_lost = lost_of_stats (lu_model_metadata (model, LU_SYSCAP_KEY_STATS));
  add_functions (&loader);
  add_states (&loader);
  add_up (&loader);
  return profile;
}

static gboolean
contains (const char *name, const char *folded)
{
  g_autofree char *folded_name = g_utf8_casefold (name, -1);

  return strstr (folded_name, folded) != NULL;
}

GPtrArray *
lu_profile_find (const LuProfile *self, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *folded = g_utf8_casefold (valid, -1);
  g_autoptr (GPtrArray) exact = g_ptr_array_new ();
  g_autoptr (GPtrArray) partial = g_ptr_array_new ();

  for (guint i = 0; i < self->functions->len; i++)
    {
      LuReportFunction *function = g_ptr_array_index (self->functions, i);

      if (function->total == 0)
        continue;
      if (strcmp (function->source->name, valid) == 0
          || strcmp (function->source->full_name, valid) == 0)
        g_ptr_array_add (exact, function);
      else if (contains (function->source->name, folded)
               || contains (function->source->full_name, folded))
        g_ptr_array_add (partial, function);
    }
  return exact->len > 0 ? g_steal_pointer (&exact) : g_steal_pointer (&partial);
}

void
lu_profile_show_full_name (LuReportFunction *function)
{
  LuModelFunction full = *function->source;

  full.name = full.full_name;
  function->name_length = strlen (full.name);
  g_free (function->text);
  function->text = lu_model_function_text (&full);
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
  lu_model_free (self->model);
  g_free (self);
}
