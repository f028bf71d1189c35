/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-json.c - a report as JSON; see report-print.h. */

#include "base/json.h"
#include "report-print.h"

#include <stdio.h>

static void
add_functions (LuJson *json, LuProfile *profile)
{
  g_ptr_array_sort (profile->functions, lu_profile_compare_self);
  lu_json_begin_array (json, "functions");
  for (guint i = 0; i < profile->functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (profile->functions, i);

      if (function->total == 0)
        continue;
      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "name", function->source->name);
      if (!g_str_equal (function->source->full_name, function->source->name))
        lu_json_add_string (json, "full_name", function->source->full_name);
      lu_json_add_string (json, "module", function->source->module);
      if (function->source->is_inlined)
        lu_json_add_bool (json, "inlined", TRUE);
      if (function->source->is_tail_call)
        lu_json_add_bool (json, "tail_call", TRUE);
      if (function->source->file != NULL)
        lu_json_add_string (json, "file", function->source->file);
      if (function->source->line > 0)
        lu_json_add_int (json, "line", (gint64) function->source->line);
      lu_json_add_int (json, "self", (gint64) function->self);
      lu_json_add_int (json, "total", (gint64) function->total);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
}

static void
add_states (LuJson *json, const LuProfile *profile)
{
  lu_json_begin_object (json, "incomplete");
  for (guint i = 0; i < profile->states->len; i++)
    {
      const LuReportState *state = g_ptr_array_index (profile->states, i);

      if (state->n > 0)
        lu_json_add_int (json, state->name, (gint64) state->n);
    }
  lu_json_end_object (json);
}

static void
add_threads (LuJson *json, const LuModel *model)
{
  g_autofree guint64 *samples = lu_report_count_threads (model);

  lu_json_begin_array (json, "threads");
  for (guint32 i = 0; i < model->threads->len; i++)
    {
      if (samples[i] == 0)
        continue;
      lu_json_begin_object (json, NULL);
      lu_json_add_int (json, "pid", lu_model_thread (model, i)->pid);
      lu_json_add_int (json, "tid", lu_model_thread (model, i)->tid);
      lu_json_add_string (json, "name", lu_model_thread (model, i)->name);
      lu_json_add_string (json, "command", lu_model_process_of (model, i)->labels.command_line);
      lu_json_add_int (json, "samples", (gint64) samples[i]);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
}

static void
add_missing (LuJson *json, const LuModel *model)
{
  g_autofree char *command = NULL;
  g_autoptr (GPtrArray) all = lu_report_find_missing (model, &command);

  lu_json_begin_object (json, "missing_debug_files");
  lu_json_begin_array (json, "files");
  for (guint i = 0; i < all->len; i++)
    {
      const LuReportMissing *missing = g_ptr_array_index (all, i);

      lu_json_begin_object (json, NULL);
      lu_json_add_string (json, "file", missing->module->path);
      lu_json_add_int (json, "samples", (gint64) missing->n);
      lu_json_end_object (json);
    }
  lu_json_end_array (json);
  if (command != NULL)
    lu_json_add_string (json, "command", command);
  lu_json_end_object (json);
}

void
lu_report_print_json (LuProfile *profile)
{
  const LuModel *model = profile->model;
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;

  lu_json_add_int (json, "samples", (gint64) model->n_samples);
  lu_json_add_double (json, "seconds", (double) (model->last - model->begin) / 1e9);
  lu_json_add_int (json, "user_stacks", (gint64) model->n_user);
  lu_json_add_int (json, "complete", (gint64) model->n_complete);
  if (profile->n_lost >= 0)
    lu_json_add_int (json, "lost", profile->n_lost);
  else
    lu_json_add_null (json, "lost");
  add_functions (json, profile);
  add_states (json, profile);
  add_threads (json, model);
  add_missing (json, model);
  text = lu_json_end (json);
  printf ("%s\n", text);
}
