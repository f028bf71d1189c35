/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-filter.c - removes samples from a model; see report-filter.h. */

#include "config.h"

#include "report-filter.h"

#include "base/error.h"
#include "base/printable.h"
#include "report-print.h"

#include <glib/gi18n.h>
#include <string.h>

#define MAX_SECONDS 1e9
/* Processes in a message, and the length of their names. */
#define MAX_NAMED 5
#define MAX_NAME  40

typedef struct
{
  const LuReportFilter *filter;
  LuModel *model;
  guint8 *has_module, *has_function; /* by node, itself or a caller of it; node 0: nothing */
  LuIdTable *counted;
  GArray *counts;
} Filtering;

gboolean
lu_report_filter_needs_times (const LuReportFilter *self)
{
  return self->from > 0 || self->to > 0;
}

void
lu_report_filter_add_options (LuReportFilter *self, GOptionContext *context)
{
  const GOptionEntry entries[] = {
    { "pid", 'p', 0, G_OPTION_ARG_INT, &self->pid, N_ ("Only this process"), N_ ("PID") },
    { "tid", 't', 0, G_OPTION_ARG_INT, &self->tid, N_ ("Only this thread"), N_ ("TID") },
    { "process", 0, 0, G_OPTION_ARG_STRING, &self->process,
      N_ ("Only processes whose command line contains this"), N_ ("TEXT") },
    { "from", 0, 0, G_OPTION_ARG_DOUBLE, &self->from,
      N_ ("Only samples from this time on, relative to the first sample"), N_ ("SECONDS") },
    { "to", 0, 0, G_OPTION_ARG_DOUBLE, &self->to,
      N_ ("Only samples up to this time, relative to the first sample"), N_ ("SECONDS") },
    { "module", 0, 0, G_OPTION_ARG_STRING, &self->module,
      N_ ("Only stacks with a file whose name contains this"), N_ ("NAME") },
    { "contains", 0, 0, G_OPTION_ARG_STRING, &self->function,
      N_ ("Only stacks with a function whose name contains this"), N_ ("NAME") },
    G_OPTION_ENTRY_NULL,
  };

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
}

void
lu_report_filter_clear (LuReportFilter *self)
{
  g_free (self->process);
  g_free (self->module);
  g_free (self->function);
}

gboolean
lu_report_filter_is_empty (const LuReportFilter *self)
{
  return self->pid == 0 && self->tid == 0 && !lu_report_filter_needs_times (self)
         && self->process == NULL && self->module == NULL && self->function == NULL;
}

/* A node's callers have smaller numbers. */
static void
mark_nodes (Filtering *self)
{
  const LuReportFilter *filter = self->filter;
  guint32 n = lu_id_table_size (self->model->nodes);

  self->has_module = g_new0 (guint8, n + (gsize) 1);
  self->has_function = g_new0 (guint8, n + (gsize) 1);
  for (guint32 i = 1; i <= n; i++)
    {
      guint32 parent = lu_model_node (self->model, i).parent;
      const LuModelFunction *function = lu_model_function_of (self->model, i);

      self->has_module[i] =
          self->has_module[parent]
          || (filter->module != NULL && strstr (function->module, filter->module));
      self->has_function[i] = self->has_function[parent]
                              || (filter->function != NULL
                                  && (strstr (function->name, filter->function)
                                      || strstr (function->full_name, filter->function)));
    }
}

static gboolean
thread_passes (const LuReportFilter *filter, const LuModel *model, guint32 thread)
{
  const LuModelThread *place = lu_model_thread (model, thread);
  const LuModelProcess *process = lu_model_process_of (model, thread);

  return (filter->pid == 0 || place->pid == filter->pid)
         && (filter->tid == 0 || place->tid == filter->tid)
         && (filter->process == NULL || strstr (process->name, filter->process) != NULL
             || strstr (process->labels.command_line, filter->process) != NULL);
}

static gboolean
passes (const Filtering *self, guint32 thread, guint32 node)
{
  const LuReportFilter *filter = self->filter;

  return thread_passes (filter, self->model, thread)
         && (filter->module == NULL || self->has_module[node])
         && (filter->function == NULL || self->has_function[node]);
}

/* Returns the processes with the most samples, as "1234 nginx, 77 sh". Owned by the caller. */
static char *
name_busiest (const LuModel *model)
{
  g_autofree guint64 *samples = lu_report_count_processes (model);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < MIN (MAX_NAMED, model->processes->len); i++)
    {
      guint32 best = 0;
      const LuModelProcess *process;
      g_autofree char *name = NULL;

      for (guint32 k = 1; k < model->processes->len; k++)
        if (samples[k] > samples[best])
          best = k;
      if (samples[best] == 0)
        break;
      samples[best] = 0;
      process = g_ptr_array_index (model->processes, best);
      name = lu_printable (process->name, MAX_NAME);
      g_string_append_printf (text, "%s%d %s", i > 0 ? ", " : "", process->pid, name);
    }
  return g_string_free (text, FALSE);
}

/* Fails if the filter leaves no thread of those that were sampled. */
static gboolean
check_threads (const LuReportFilter *filter, const LuModel *model, GError **error)
{
  g_autofree char *busiest = NULL;
  g_autofree char *wanted = NULL;

  if (model->n_samples == 0)
    return TRUE;
  for (guint32 i = 0; i < model->threads->len; i++)
    if (thread_passes (filter, model, i))
      return TRUE;
  busiest = name_busiest (model);
  wanted = filter->process != NULL ? lu_printable (filter->process, 0)
                                   : g_strdup_printf ("%d", MAX (filter->pid, filter->tid));
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("no process or thread \"%s\" was sampled; most samples have: %s"), wanted,
               busiest);
  return FALSE;
}

static void
count (Filtering *self, const LuModelCount *added)
{
  LuModelSum *sum;
  guint32 id;

  if (!passes (self, added->thread, added->node))
    return;
  id = lu_id_table_add (self->counted, lu_model_count_key (added), 0);
  if (id == self->counts->len)
    g_array_append_val (self->counts, (LuModelSum){ 0 });
  sum = &g_array_index (self->counts, LuModelSum, id);
  sum->n += added->n;
  sum->weight += added->weight;
  self->model->n_samples += added->n;
}

/* Counts the samples one by one, and keeps only those that pass. */
static void
count_samples (Filtering *self)
{
  LuModel *model = self->model;
  GArray *kept = g_array_new (FALSE, FALSE, sizeof (LuModelSample));
  gint64 from = model->begin + (gint64) (CLAMP (self->filter->from, 0, MAX_SECONDS) * 1e9);
  gint64 to = self->filter->to > 0
                  ? model->begin + (gint64) (CLAMP (self->filter->to, 0, MAX_SECONDS) * 1e9)
                  : G_MAXINT64;

  for (guint i = 0; i < model->samples->len; i++)
    {
      const LuModelSample *sample = &g_array_index (model->samples, LuModelSample, i);
      LuModelCount one = { .event = sample->event,
                           .thread = sample->thread,
                           .node = sample->node,
                           .n = 1,
                           .weight = sample->weight };

      if (sample->time < from || sample->time >= to || !passes (self, sample->thread, sample->node))
        continue;
      count (self, &one);
      g_array_append_vals (kept, sample, 1);
    }
  g_array_unref (model->samples);
  model->samples = kept;
}

/* Removes the samples that do not pass; the counts are right already. */
static void
drop_samples (Filtering *self)
{
  GArray *samples = self->model->samples;
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      LuModelSample sample = g_array_index (samples, LuModelSample, i);

      if (passes (self, sample.thread, sample.node))
        g_array_index (samples, LuModelSample, n++) = sample;
    }
  g_array_set_size (samples, n);
}

static void
count_all (Filtering *self)
{
  for (guint i = 0; i < lu_model_n_counts (self->model); i++)
    {
      LuModelCount all = lu_model_count (self->model, i);

      count (self, &all);
    }
  drop_samples (self);
}

gboolean
lu_report_filter_apply (const LuReportFilter *filter, LuModel *model, GError **error)
{
  Filtering self = { .filter = filter, .model = model };

  if (lu_report_filter_is_empty (filter))
    return TRUE;
  if (!check_threads (filter, model, error))
    return FALSE;
  mark_nodes (&self);
  self.counted = lu_id_table_new (1);
  self.counts = g_array_new (FALSE, FALSE, sizeof (LuModelSum));
  model->n_samples = model->n_user = model->n_complete = 0;
  if (model->flags & LU_MODEL_TIMES)
    count_samples (&self);
  else
    count_all (&self);
  lu_id_table_free (model->counted);
  g_array_unref (model->counts);
  model->counted = self.counted;
  model->counts = self.counts;
  g_free (self.has_module);
  g_free (self.has_function);
  return TRUE;
}
