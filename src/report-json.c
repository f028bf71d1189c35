/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-json.c - a report as JSON; see report-json.h. */

#include "report-json.h"

#include <json-glib/json-glib.h>
#include <stdio.h>

static void
add_text (JsonBuilder *json, const char *key, const char *text)
{
  json_builder_set_member_name (json, key);
  json_builder_add_string_value (json, text);
}

static void
add_count (JsonBuilder *json, const char *key, guint64 count)
{
  json_builder_set_member_name (json, key);
  json_builder_add_int_value (json, (gint64) count);
}

static void
add_flag (JsonBuilder *json, const char *key)
{
  json_builder_set_member_name (json, key);
  json_builder_add_boolean_value (json, TRUE);
}

static void
begin_array (JsonBuilder *json, const char *key)
{
  json_builder_set_member_name (json, key);
  json_builder_begin_array (json);
}

static void
add_functions (JsonBuilder *json, LuProfile *profile)
{
  g_ptr_array_sort (profile->functions, lu_profile_compare_self);
  begin_array (json, "functions");
  for (guint i = 0; i < profile->functions->len; i++)
    {
      const LuReportFunction *function = g_ptr_array_index (profile->functions, i);

      if (function->total == 0)
        continue;
      json_builder_begin_object (json);
      add_text (json, "name", function->name);
      add_text (json, "module", function->module);
      if (function->is_inlined)
        add_flag (json, "inlined");
      if (function->file != NULL)
        add_text (json, "file", function->file);
      if (function->line > 0)
        add_count (json, "line", function->line);
      add_count (json, "self", function->self);
      add_count (json, "total", function->total);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}

static void
add_states (JsonBuilder *json, const LuProfile *profile)
{
  json_builder_set_member_name (json, "incomplete");
  json_builder_begin_object (json);
  for (guint i = 0; i < profile->states->len; i++)
    {
      const LuReportState *state = g_ptr_array_index (profile->states, i);

      if (state->n > 0)
        add_count (json, state->name, state->n);
    }
  json_builder_end_object (json);
}

static void
add_threads (JsonBuilder *json, const LuModel *model)
{
  g_autofree guint64 *samples = g_new0 (guint64, model->threads->len + 1);

  for (guint i = 0; i < model->counts->len; i++)
    samples[*lu_id_table_key (model->counted, i) >> 32] +=
        g_array_index (model->counts, guint64, i);
  begin_array (json, "threads");
  for (guint32 i = 0; i < model->threads->len; i++)
    {
      if (samples[i] == 0)
        continue;
      json_builder_begin_object (json);
      add_count (json, "pid", (guint64) (gint64) lu_model_thread (model, i)->pid);
      add_count (json, "tid", (guint64) (gint64) lu_model_thread (model, i)->tid);
      add_text (json, "command", lu_model_process_of (model, i)->command_line);
      add_count (json, "samples", samples[i]);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}

void
lu_report_print_json (const LuModel *model, LuProfile *profile)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_begin_object (json);
  add_count (json, "samples", profile->n_samples);
  json_builder_set_member_name (json, "seconds");
  json_builder_add_double_value (json, (double) (profile->end - profile->begin) / 1e9);
  add_count (json, "user_stacks", profile->n_user);
  add_count (json, "complete", profile->n_complete);
  json_builder_set_member_name (json, "lost");
  if (profile->n_lost >= 0)
    json_builder_add_int_value (json, profile->n_lost);
  else
    json_builder_add_null_value (json);
  add_functions (json, profile);
  add_states (json, profile);
  add_threads (json, model);
  json_builder_end_object (json);
  root = json_builder_get_root (json);
  json_generator_set_root (generator, root);
  text = json_generator_to_data (generator, NULL);
  printf ("%s\n", text);
}
